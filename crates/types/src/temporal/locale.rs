//! The names of months and days in the languages of lc_time_names.
//!
//! A locale is a position in [`NAMES`]: the binder puts it into the calls of DAYNAME, MONTHNAME and DATE_FORMAT as a constant,
//! so that it reaches every shard with them. STR_TO_DATE reads English only, as in MySQL.

/// A language that days and months have names in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Locale(u8);

struct Names {
    locale: &'static str,
    months: [&'static str; 12],
    short_months: [&'static str; 12],
    /// From Monday.
    days: [&'static str; 7],
    short_days: [&'static str; 7],
}

impl Locale {
    /// en_US, the default.
    pub const ENGLISH: Locale = Locale(0);

    /// By its name, in any case; None: not served.
    pub fn by_name(name: &str) -> Option<Locale> {
        let position = NAMES.iter().position(|own| own.locale.eq_ignore_ascii_case(name))?;
        Some(Locale(u8::try_from(position).expect("there are a dozen locales")))
    }
    /// Whether MySQL has names for this locale, served here or not.
    pub fn is_known(name: &str) -> bool {
        let is_name = |own: &str| own.eq_ignore_ascii_case(name);
        Locale::by_name(name).is_some() || OTHERS.iter().any(|own| is_name(own))
    }
    /// The number that stands for it in an expression.
    pub fn number(self) -> u8 {
        self.0
    }
    /// None: no locale of this version.
    pub fn from_number(number: i64) -> Option<Locale> {
        let number = u8::try_from(number).ok()?;
        (usize::from(number) < NAMES.len()).then_some(Locale(number))
    }
    pub fn name(self) -> &'static str {
        self.names().locale
    }
    fn names(self) -> &'static Names {
        &NAMES[usize::from(self.0)]
    }
    /// 1 to 12; None for month 0.
    pub fn month(self, month: u8) -> Option<&'static str> {
        self.names().months.get(usize::from(month).checked_sub(1)?).copied()
    }
    pub fn short_month(self, month: u8) -> Option<&'static str> {
        self.names().short_months.get(usize::from(month).checked_sub(1)?).copied()
    }
    /// 0 is Monday, 6 is Sunday.
    pub fn day(self, weekday: u8) -> &'static str {
        self.names().days[usize::from(weekday)]
    }
    pub fn short_day(self, weekday: u8) -> &'static str {
        self.names().short_days[usize::from(weekday)]
    }
    /// Characters of the longest name of a day, and of a month.
    pub fn length_max(self) -> (u32, u32) {
        let longest = |names: &[&str]| {
            names.iter().map(|name| name.chars().count() as u32).max().expect("there are names")
        };
        (longest(&self.names().days), longest(&self.names().months))
    }
}

/// MySQL's months and days, English first.
#[rustfmt::skip]
const NAMES: &[Names] = &[
    Names {
        locale: "en_US",
        months: [
            "January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December",
        ],
        short_months: [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ],
        days: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        short_days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    },
    Names {
        locale: "en_GB",
        months: [
            "January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December",
        ],
        short_months: [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ],
        days: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        short_days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    },
    Names {
        locale: "da_DK",
        months: [
            "januar", "februar", "marts", "april", "maj", "juni", "juli", "august", "september",
            "oktober", "november", "december",
        ],
        short_months: [
            "jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec",
        ],
        days: ["mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag"],
        short_days: ["man", "tir", "ons", "tor", "fre", "lør", "søn"],
    },
    Names {
        locale: "de_DE",
        months: [
            "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
            "Oktober", "November", "Dezember",
        ],
        short_months: [
            "Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
        ],
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        short_days: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    },
    Names {
        locale: "es_ES",
        months: [
            "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
            "octubre", "noviembre", "diciembre",
        ],
        short_months: [
            "ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic",
        ],
        days: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
        short_days: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
    },
    Names {
        locale: "fi_FI",
        months: [
            "tammikuu", "helmikuu", "maaliskuu", "huhtikuu", "toukokuu", "kesäkuu", "heinäkuu",
            "elokuu", "syyskuu", "lokakuu", "marraskuu", "joulukuu",
        ],
        short_months: [
            "tammi ", "helmi ", "maalis", "huhti ", "touko ", "kesä  ", "heinä ", "elo   ",
            "syys  ", "loka  ", "marras", "joulu ",
        ],
        days: [
            "maanantai", "tiistai", "keskiviikko", "torstai", "perjantai", "lauantai", "sunnuntai",
        ],
        short_days: ["ma", "ti", "ke", "to", "pe", "la", "su"],
    },
    Names {
        locale: "fr_FR",
        months: [
            "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
            "octobre", "novembre", "décembre",
        ],
        short_months: [
            "jan", "fév", "mar", "avr", "mai", "jun", "jui", "aoû", "sep", "oct", "nov", "déc",
        ],
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        short_days: ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
    },
    Names {
        locale: "it_IT",
        months: [
            "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto",
            "settembre", "ottobre", "novembre", "dicembre",
        ],
        short_months: [
            "gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic",
        ],
        days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
        short_days: ["lun", "mar", "mer", "gio", "ven", "sab", "dom"],
    },
    Names {
        locale: "nl_NL",
        months: [
            "januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september",
            "oktober", "november", "december",
        ],
        short_months: [
            "jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec",
        ],
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        short_days: ["ma", "di", "wo", "do", "vr", "za", "zo"],
    },
    Names {
        locale: "pl_PL",
        months: [
            "styczeń", "luty", "marzec", "kwiecień", "maj", "czerwiec", "lipiec", "sierpień",
            "wrzesień", "październik", "listopad", "grudzień",
        ],
        short_months: [
            "sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru",
        ],
        days: ["poniedziałek", "wtorek", "środa", "czwartek", "piątek", "sobota", "niedziela"],
        short_days: ["pon", "wto", "śro", "czw", "pią", "sob", "nie"],
    },
    Names {
        locale: "pt_BR",
        months: [
            "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto",
            "setembro", "outubro", "novembro", "dezembro",
        ],
        short_months: [
            "Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez",
        ],
        days: ["segunda", "terça", "quarta", "quinta", "sexta", "sábado", "domingo"],
        short_days: ["Seg", "Ter", "Qua", "Qui", "Sex", "Sáb", "Dom"],
    },
    Names {
        locale: "sv_SE",
        months: [
            "januari", "februari", "mars", "april", "maj", "juni", "juli", "augusti", "september",
            "oktober", "november", "december",
        ],
        short_months: [
            "jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec",
        ],
        days: ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
        short_days: ["mån", "tis", "ons", "tor", "fre", "lör", "sön"],
    },
];

/// The locales of MySQL 8.0 that are not served.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "ar_AE", "ar_BH", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_JO", "ar_KW", "ar_LB", "ar_LY",
    "ar_MA", "ar_OM", "ar_QA", "ar_SA", "ar_SD", "ar_SY", "ar_TN", "ar_YE", "be_BY", "bg_BG",
    "ca_ES", "cs_CZ", "de_AT", "de_BE", "de_CH", "de_LU", "el_GR", "en_AU", "en_CA", "en_IN",
    "en_NZ", "en_PH", "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO",
    "es_EC", "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY", "es_SV",
    "es_US", "es_UY", "es_VE", "et_EE", "eu_ES", "fo_FO", "fr_BE", "fr_CA", "fr_CH", "fr_LU",
    "gl_ES", "gu_IN", "he_IL", "hi_IN", "hr_HR", "hu_HU", "id_ID", "is_IS", "it_CH", "ja_JP",
    "ko_KR", "lt_LT", "lv_LV", "mk_MK", "mn_MN", "ms_MY", "nb_NO", "nl_BE", "no_NO", "pt_PT",
    "rm_CH", "ro_RO", "ru_RU", "ru_UA", "sk_SK", "sl_SI", "sq_AL", "sr_RS", "sv_FI", "ta_IN",
    "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK", "vi_VN", "zh_CN", "zh_HK", "zh_TW",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every locale is found by its name and its number, and has no empty name.
    #[test]
    fn locales_are_whole() {
        for (number, names) in NAMES.iter().enumerate() {
            let locale = Locale::by_name(names.locale).expect("in the table");
            assert_eq!(usize::from(locale.number()), number);
            assert_eq!(Locale::from_number(number as i64), Some(locale));
            assert_eq!(Locale::by_name(&names.locale.to_lowercase()), Some(locale));
            assert!((1..=12).all(|month| locale.month(month).is_some_and(|name| !name.is_empty())));
            assert!((0..7).all(|day| !locale.short_day(day).is_empty()));
            assert!(!OTHERS.contains(&names.locale));
        }
        assert_eq!(Locale::ENGLISH.name(), "en_US");
        assert_eq!(Locale::ENGLISH.month(0), None);
        assert_eq!(Locale::ENGLISH.length_max(), (9, 9));
        assert_eq!(Locale::by_name("ja_JP"), None);
        assert!(Locale::is_known("ja_JP") && !Locale::is_known("xx_XX"));
        assert_eq!(Locale::from_number(NAMES.len() as i64), None);
        assert_eq!(NAMES.len() + OTHERS.len(), 111);
    }
}
