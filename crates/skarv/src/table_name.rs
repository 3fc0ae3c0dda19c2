//! A table's name as it is typed: DB.TABLE, each part bare or in backticks.

/// Database and table, or why the text names none.
pub fn parse(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("'{text}' names no table: write DB.TABLE, such as test.accounts");
    let (database, rest) = part(text).ok_or_else(wrong)?;
    let (table, rest) = part(rest.strip_prefix('.').ok_or_else(wrong)?).ok_or_else(wrong)?;
    if !rest.is_empty() {
        return Err(wrong());
    }
    Ok((database, table))
}

/// The name a text begins with, and what follows it.
fn part(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('`') else {
        let end = text.find(['.', '`']).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('`')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('`') {
            // Two backticks stand for one.
            Some(after) => {
                name.push('`');
                rest = after;
            }
            None => return (!name.is_empty()).then_some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split() {
        for (text, database, table) in [
            ("a.b", "a", "b"),
            ("`a.x`.b", "a.x", "b"),
            ("a.`b``c`", "a", "b`c"),
            ("`ä`.`ö`", "ä", "ö"),
        ] {
            assert_eq!(parse(text), Ok((database.to_owned(), table.to_owned())), "{text}");
        }
        for text in ["", "a", "a.", ".b", "a.b.c", "`a.b", "`a`b.c", "``.b", "a.`b`c"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
