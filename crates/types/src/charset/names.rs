//! The character sets and collations of MySQL 8.0, by name: one that the engine does not serve is refused by its name,
//! one that MySQL does not have is unknown.

/// Character set, and its collations as `number:name` without the character set's name in front.
#[rustfmt::skip]
static CHARSETS: &[(&str, &str)] = &[
    ("armscii8", "32:general_ci 64:bin"),
    ("ascii", "11:general_ci 65:bin"),
    ("big5", "1:chinese_ci 84:bin"),
    ("binary", "63:"),
    ("cp1250", "26:general_ci 34:czech_cs 44:croatian_ci 66:bin 99:polish_ci"),
    ("cp1251", "14:bulgarian_ci 23:ukrainian_ci 50:bin 51:general_ci 52:general_cs"),
    ("cp1256", "57:general_ci 67:bin"),
    ("cp1257", "29:lithuanian_ci 58:bin 59:general_ci"),
    ("cp850", "4:general_ci 80:bin"),
    ("cp852", "40:general_ci 81:bin"),
    ("cp866", "36:general_ci 68:bin"),
    ("cp932", "95:japanese_ci 96:bin"),
    ("dec8", "3:swedish_ci 69:bin"),
    ("eucjpms", "97:japanese_ci 98:bin"),
    ("euckr", "19:korean_ci 85:bin"),
    ("gb18030", "248:chinese_ci 249:bin 250:unicode_520_ci"),
    ("gb2312", "24:chinese_ci 86:bin"),
    ("gbk", "28:chinese_ci 87:bin"),
    ("geostd8", "92:general_ci 93:bin"),
    ("greek", "25:general_ci 70:bin"),
    ("hebrew", "16:general_ci 71:bin"),
    ("hp8", "6:english_ci 72:bin"),
    ("keybcs2", "37:general_ci 73:bin"),
    ("koi8r", "7:general_ci 74:bin"),
    ("koi8u", "22:general_ci 75:bin"),
    (
        "latin1",
        "5:german1_ci 8:swedish_ci 15:danish_ci 31:german2_ci 47:bin 48:general_ci \
         49:general_cs 94:spanish_ci",
    ),
    ("latin2", "2:czech_cs 9:general_ci 21:hungarian_ci 27:croatian_ci 77:bin"),
    ("latin5", "30:turkish_ci 78:bin"),
    ("latin7", "20:estonian_cs 41:general_ci 42:general_cs 79:bin"),
    ("macce", "38:general_ci 43:bin"),
    ("macroman", "39:general_ci 53:bin"),
    ("sjis", "13:japanese_ci 88:bin"),
    ("swe7", "10:swedish_ci 82:bin"),
    ("tis620", "18:thai_ci 89:bin"),
    (
        "ucs2",
        "35:general_ci 90:bin 128:unicode_ci 129:icelandic_ci 130:latvian_ci 131:romanian_ci \
         132:slovenian_ci 133:polish_ci 134:estonian_ci 135:spanish_ci 136:swedish_ci \
         137:turkish_ci 138:czech_ci 139:danish_ci 140:lithuanian_ci 141:slovak_ci \
         142:spanish2_ci 143:roman_ci 144:persian_ci 145:esperanto_ci 146:hungarian_ci \
         147:sinhala_ci 148:german2_ci 149:croatian_ci 150:unicode_520_ci 151:vietnamese_ci \
         159:general_mysql500_ci",
    ),
    ("ujis", "12:japanese_ci 91:bin"),
    (
        "utf16",
        "54:general_ci 55:bin 101:unicode_ci 102:icelandic_ci 103:latvian_ci 104:romanian_ci \
         105:slovenian_ci 106:polish_ci 107:estonian_ci 108:spanish_ci 109:swedish_ci \
         110:turkish_ci 111:czech_ci 112:danish_ci 113:lithuanian_ci 114:slovak_ci \
         115:spanish2_ci 116:roman_ci 117:persian_ci 118:esperanto_ci 119:hungarian_ci \
         120:sinhala_ci 121:german2_ci 122:croatian_ci 123:unicode_520_ci 124:vietnamese_ci",
    ),
    ("utf16le", "56:general_ci 62:bin"),
    (
        "utf32",
        "60:general_ci 61:bin 160:unicode_ci 161:icelandic_ci 162:latvian_ci 163:romanian_ci \
         164:slovenian_ci 165:polish_ci 166:estonian_ci 167:spanish_ci 168:swedish_ci \
         169:turkish_ci 170:czech_ci 171:danish_ci 172:lithuanian_ci 173:slovak_ci \
         174:spanish2_ci 175:roman_ci 176:persian_ci 177:esperanto_ci 178:hungarian_ci \
         179:sinhala_ci 180:german2_ci 181:croatian_ci 182:unicode_520_ci 183:vietnamese_ci",
    ),
    (
        "utf8mb3",
        "33:general_ci 76:tolower_ci 83:bin 192:unicode_ci 193:icelandic_ci 194:latvian_ci \
         195:romanian_ci 196:slovenian_ci 197:polish_ci 198:estonian_ci 199:spanish_ci \
         200:swedish_ci 201:turkish_ci 202:czech_ci 203:danish_ci 204:lithuanian_ci \
         205:slovak_ci 206:spanish2_ci 207:roman_ci 208:persian_ci 209:esperanto_ci \
         210:hungarian_ci 211:sinhala_ci 212:german2_ci 213:croatian_ci 214:unicode_520_ci \
         215:vietnamese_ci 223:general_mysql500_ci",
    ),
    (
        "utf8mb4",
        "45:general_ci 46:bin 224:unicode_ci 225:icelandic_ci 226:latvian_ci 227:romanian_ci \
         228:slovenian_ci 229:polish_ci 230:estonian_ci 231:spanish_ci 232:swedish_ci \
         233:turkish_ci 234:czech_ci 235:danish_ci 236:lithuanian_ci 237:slovak_ci \
         238:spanish2_ci 239:roman_ci 240:persian_ci 241:esperanto_ci 242:hungarian_ci \
         243:sinhala_ci 244:german2_ci 245:croatian_ci 246:unicode_520_ci 247:vietnamese_ci \
         255:0900_ai_ci 256:de_pb_0900_ai_ci 257:is_0900_ai_ci 258:lv_0900_ai_ci \
         259:ro_0900_ai_ci 260:sl_0900_ai_ci 261:pl_0900_ai_ci 262:et_0900_ai_ci \
         263:es_0900_ai_ci 264:sv_0900_ai_ci 265:tr_0900_ai_ci 266:cs_0900_ai_ci \
         267:da_0900_ai_ci 268:lt_0900_ai_ci 269:sk_0900_ai_ci 270:es_trad_0900_ai_ci \
         271:la_0900_ai_ci 273:eo_0900_ai_ci 274:hu_0900_ai_ci 275:hr_0900_ai_ci \
         277:vi_0900_ai_ci 278:0900_as_cs 279:de_pb_0900_as_cs 280:is_0900_as_cs \
         281:lv_0900_as_cs 282:ro_0900_as_cs 283:sl_0900_as_cs 284:pl_0900_as_cs \
         285:et_0900_as_cs 286:es_0900_as_cs 287:sv_0900_as_cs 288:tr_0900_as_cs \
         289:cs_0900_as_cs 290:da_0900_as_cs 291:lt_0900_as_cs 292:sk_0900_as_cs \
         293:es_trad_0900_as_cs 294:la_0900_as_cs 296:eo_0900_as_cs 297:hu_0900_as_cs \
         298:hr_0900_as_cs 300:vi_0900_as_cs 303:ja_0900_as_cs 304:ja_0900_as_cs_ks \
         305:0900_as_ci 306:ru_0900_ai_ci 307:ru_0900_as_cs 308:zh_0900_as_cs 309:0900_bin \
         310:nb_0900_ai_ci 311:nb_0900_as_cs 312:nn_0900_ai_ci 313:nn_0900_as_cs \
         314:sr_latn_0900_ai_ci 315:sr_latn_0900_as_cs 316:bs_0900_ai_ci 317:bs_0900_as_cs \
         318:bg_0900_ai_ci 319:bg_0900_as_cs 320:gl_0900_ai_ci 321:gl_0900_as_cs \
         322:mn_cyrl_0900_ai_ci 323:mn_cyrl_0900_as_cs",
    ),
];

/// Every collation: character set, number, name behind the character set's and an underscore (empty for `binary`).
fn collations() -> impl Iterator<Item = (&'static str, u16, &'static str)> {
    CHARSETS.iter().flat_map(|(charset, collations)| {
        collations.split_whitespace().map(|entry| {
            let (number, name) = entry.split_once(':').expect("number:name");
            (*charset, number.parse().expect("a number"), name)
        })
    })
}

/// `utf8` is MySQL's old name of `utf8mb3`, also at the beginning of a collation's name.
pub(crate) fn without_old_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    match lower.strip_prefix("utf8") {
        Some(rest) if rest.is_empty() || rest.starts_with('_') => format!("utf8mb3{rest}"),
        _ => lower,
    }
}

/// MySQL's own spelling of a character set's name in any case.
pub fn charset_named(name: &str) -> Option<&'static str> {
    let name = without_old_name(name);
    CHARSETS.iter().map(|(charset, _)| *charset).find(|charset| *charset == name)
}

/// The character set of a collation's name in any case.
pub fn charset_of_collation(name: &str) -> Option<&'static str> {
    let name = without_old_name(name);
    let found = collations().find(|(charset, _, suffix)| {
        name.strip_prefix(charset).is_some_and(|rest| match rest.strip_prefix('_') {
            Some(rest) => rest == *suffix && !suffix.is_empty(),
            None => rest.is_empty() && suffix.is_empty(),
        })
    });
    found.map(|(charset, ..)| charset)
}

/// The character set of a collation's number.
pub fn charset_of_number(number: u16) -> Option<&'static str> {
    collations().find(|(_, own, _)| *own == number).map(|(charset, ..)| charset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MySQL 8.0 has 41 character sets and 286 collations; names are found in any case and by their old form.
    #[test]
    fn names_are_mysqls() {
        assert_eq!((CHARSETS.len(), collations().count()), (41, 286));
        assert!(CHARSETS.is_sorted_by_key(|(charset, _)| charset));
        let mut numbers: Vec<u16> = collations().map(|(_, number, _)| number).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "numbers are unique");
        for (name, expected) in [
            ("KOI8R", Some("koi8r")),
            ("utf8", Some("utf8mb3")),
            ("utf8mb4", Some("utf8mb4")),
            ("binary", Some("binary")),
            ("gb18030", Some("gb18030")),
            ("utf9", None),
            ("", None),
        ] {
            assert_eq!(charset_named(name), expected, "{name}");
        }
        for (name, expected) in [
            ("latin1_danish_ci", Some("latin1")),
            ("UTF8_general_ci", Some("utf8mb3")),
            ("utf8mb3_croatian_ci", Some("utf8mb3")),
            ("utf8mb4_ja_0900_as_cs_ks", Some("utf8mb4")),
            ("utf8mb4_0900_ai_ci", Some("utf8mb4")),
            ("binary", Some("binary")),
            ("utf8mb4", None),
            ("latin1_0900_ai_ci", None),
            ("utf8mb4general_ci", None),
            ("utf8mb4_fa_0900_ai_ci", None),
        ] {
            assert_eq!(charset_of_collation(name), expected, "{name}");
        }
        assert_eq!(charset_of_number(9), Some("latin2"));
        assert_eq!(charset_of_number(255), Some("utf8mb4"));
        assert_eq!(charset_of_number(272), None);
    }
}
