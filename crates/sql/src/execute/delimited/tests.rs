//! Cases as data, and random files against a transcription of MySQL's reader.

use super::*;

const SIZE_MAX: usize = 1 << 20;

/// A record as text: fields in brackets, NULL as `-`, a cut line with `+` behind it.
fn shown(record: &Record) -> String {
    let mut text = String::new();
    for number in 0..record.field_count() {
        match record.field(number) {
            None => text.push('-'),
            Some(bytes) => {
                text.push('[');
                text.push_str(&bytes.escape_ascii().to_string());
                text.push(']');
            }
        }
    }
    if record.is_cut() {
        text.push('+');
    }
    text
}

/// The records of a file that comes in pieces that end at these positions.
fn records(
    format: &Format,
    field_count: usize,
    ignored: u64,
    file: &[u8],
    cuts: &[usize],
) -> Vec<String> {
    let mut machine = Delimited::new(format.clone(), field_count, ignored, SIZE_MAX);
    let mut found = Vec::new();
    let mut start = 0;
    let mut cuts = cuts.iter().copied().chain([file.len()]);
    loop {
        match machine.step().expect("short records") {
            Step::Record => found.push(shown(machine.record())),
            Step::End => return found,
            Step::More => match cuts.next() {
                Some(end) => {
                    machine.feed(&file[start..end]);
                    start = end;
                }
                None => machine.finish(),
            },
        }
    }
}

fn format(
    field_end: &str,
    enclosed: Option<u8>,
    escape: Option<u8>,
    line_start: &str,
    line_end: &str,
) -> Format {
    Format {
        field_end: field_end.into(),
        enclosed,
        escape,
        line_start: line_start.into(),
        line_end: line_end.into(),
    }
}

/// Every case gives the same records whole, byte by byte, and cut at any one place.
fn check(format: &Format, field_count: usize, ignored: u64, cases: &[(&str, &[&str])]) {
    for (file, expected) in cases {
        let bytes = file.as_bytes();
        let whole = records(format, field_count, ignored, bytes, &[]);
        assert_eq!(whole, *expected, "{file:?} by {format:?}");
        let every: Vec<usize> = (0..bytes.len()).collect();
        assert_eq!(
            records(format, field_count, ignored, bytes, &every),
            whole,
            "{file:?} by bytes"
        );
        for cut in every {
            let parted = records(format, field_count, ignored, bytes, &[cut]);
            assert_eq!(parted, whole, "{file:?} cut at {cut}");
        }
    }
}

#[test]
fn the_default_format() {
    check(
        &Format::default(),
        2,
        0,
        &[
            ("", &[]),
            ("1\t2\n", &["[1][2]"]),
            ("1\t2", &["[1][2]"]),
            ("1\t2\n3\t4", &["[1][2]", "[3][4]"]),
            ("\n", &["[]"]),
            ("\n\n", &["[]", "[]"]),
            ("1\n2\t3\n", &["[1]", "[2][3]"]),
            ("1\t", &["[1]"]),
            ("1\t\n", &["[1][]"]),
            ("\t", &["[]"]),
            ("1\t2\t3\n4\t5\n", &["[1][2]+", "[4][5]"]),
            ("1\t2\t\n", &["[1][2]"]),
            ("1\t2\t3", &["[1][2]"]),
            ("\\N\t\\N\n", &["--"]),
            ("\\Nx\tx\\N\n", &["[Nx][xN]"]),
            ("N\tNULL\n", &["[N][NULL]"]),
            ("a\\tb\tc\\nd\n", &["[a\\tb][c\\nd]"]),
            ("\\0\\b\\r\\Z\t\\x\\\\\n", &["[\\x00\\x08\\r\\x1a][x\\\\]"]),
            ("a\\\tb\tc\n", &["[a\\tb][c]"]),
            ("a\\\nb\tc\n", &["[a\\nb][c]"]),
            ("a\tb\\", &["[a][b\\\\]"]),
            ("a\r\nb\tc\r\n", &["[a\\r]", "[b][c\\r]"]),
            ("\"a\"\tb\n", &["[\\\"a\\\"][b]"]),
        ],
    );
}

#[test]
fn enclosed_fields() {
    check(
        &format(",", Some(b'"'), Some(b'\\'), "", "\n"),
        2,
        0,
        &[
            ("\"a\",\"b\"\n", &["[a][b]"]),
            ("\"a,b\",\"c\nd\"\n", &["[a,b][c\\nd]"]),
            ("\"a\"\"b\",\"\"\n", &["[a\\\"b][]"]),
            ("\"a\\\"b\",c\n", &["[a\\\"b][c]"]),
            ("a\"b,c\"\n", &["[a\\\"b][c\\\"]"]),
            ("\"a\"b,c\n", &["[\\\"a\\\"b,c\\n]"]),
            ("\"a\"b\",c\n", &["[a\\\"b][c]"]),
            ("\"a", &["[\\\"a]"]),
            ("\"a\"", &["[a]"]),
            ("\"a\",\"b\"", &["[a][b]"]),
            ("NULL,\"NULL\"\n", &["-[NULL]"]),
            ("null,NULLS\n", &["[null][NULLS]"]),
            ("\\N,\"\\N\"\n", &["--"]),
            (" \"a\",b\n", &["[ \\\"a\\\"][b]"]),
            ("\"a\",\"b\",\"c\nd\"\n", &["[a][b]+", "[d\\\"]"]),
            ("\"\"\"\",\"\"\"a\"\n", &["[\\\"][\\\"a]"]),
        ],
    );
    // The usual form of spreadsheets: quotes are doubled, nothing else is escaped.
    check(
        &format(",", Some(b'"'), None, "", "\r\n"),
        2,
        0,
        &[
            ("a\\,b\r\n", &["[a\\\\][b]"]),
            ("\"x\r\ny\",\"\"\"\"\r\n", &["[x\\r\\ny][\\\"]"]),
            ("a\r,b\n\r\n", &["[a\\r][b\\n]"]),
            ("\"a\"\r\n", &["[a]"]),
            ("\"a\"\r,b\r\n", &["[\\\"a\\\"\\r,b\\r\\n]"]),
        ],
    );
    // The escape is the enclosing byte.
    check(
        &format(",", Some(b'"'), Some(b'"'), "", "\n"),
        2,
        0,
        &[
            ("\"fie\"\"ld\",b\n", &["[fie\\\"ld][b]"]),
            ("\"a\nb\",c\n", &["[a\\nb][c]"]),
            ("a\"\"b,\"N\"\n", &["[a\\\"b][N]"]),
            ("\"a\"", &["[\\\"a\\\"]"]),
        ],
    );
}

#[test]
fn terminators_of_several_bytes() {
    check(
        &format("||", None, Some(b'\\'), "", "<>"),
        2,
        0,
        &[
            ("a|b||c<d<>", &["[a|b][c<d]"]),
            ("a|||b<>", &["[a][|b]"]),
            ("a||b<<>", &["[a][b<]"]),
            ("a||b||c<<>d||e", &["[a][b]+", "[d][e]"]),
            ("a|", &["[a|]"]),
            ("a||b<", &["[a][b<]"]),
            ("a||b||c\\<>d<>e", &["[a][b]+", "[e]"]),
        ],
    );
    check(
        &format("aab", Some(b'\''), None, "", "aac"),
        2,
        0,
        &[
            ("aaaabxaac", &["[aa][x]"]),
            ("'x'aab'y'aac'z'", &["[x][y]", "[z]"]),
            ("'x'aad'aab1aac", &["[x\\'aad][1]"]),
        ],
    );
}

#[test]
fn starts_of_lines() {
    check(
        &format(",", None, Some(b'\\'), "xxx", "\n"),
        2,
        0,
        &[
            (
                "xxx\"abc\",1\nsomething xxx\"def\",2\n\"ghi\",3\n",
                &["[\\\"abc\\\"][1]", "[\\\"def\\\"][2]"],
            ),
            ("xxxxa,b\n", &["[xa][b]"]),
            ("xxa\nxxxb\n", &["[b]"]),
            ("xx", &[]),
            ("xxx", &[]),
            ("xxx\n", &["[]"]),
        ],
    );
    check(
        &format(",", None, Some(b'\\'), "aab", "\n"),
        1,
        0,
        &[("aaab1\n", &["[1]"]), ("aaaab2\naab3", &["[2]", "[3]"])],
    );
}

#[test]
fn ignored_lines() {
    let cases: &[(&str, &[&str])] = &[
        ("a\tb\n1\t2\n", &["[1][2]"]),
        ("a\n", &[]),
        ("a", &[]),
        ("a\\\nb\n1\t2\n", &["[1][2]"]),
        ("\n1\t2\n", &["[1][2]"]),
        ("a\\", &[]),
    ];
    check(&Format::default(), 2, 1, cases);
    check(&Format::default(), 1, 3, &[("1\n2\n3\n4\n5\n", &["[4]", "[5]"])]);
    // Without lines it is records that are ignored.
    check(
        &format(",", None, None, "", ""),
        2,
        1,
        &[("a,b,1,2,3,4", &["[1][2]", "[3][4]"]), ("a,b,1", &["[1]"]), ("a", &[])],
    );
}

#[test]
fn formats_without_a_terminator() {
    check(
        &format(",", None, Some(b'\\'), "", ""),
        2,
        0,
        &[
            ("1,2,3,4", &["[1][2]", "[3][4]"]),
            ("1,2,3", &["[1][2]", "[3]"]),
            ("1,\n,", &["[1][\\n]"]),
        ],
    );
    // The same terminator of fields and lines: there are no lines.
    check(&format(",", None, None, "", ","), 2, 5, &[("1,2,3,4,", &["[1][2]", "[3][4]"])]);
    // A field ends with its line.
    check(&format("", Some(b'"'), None, "", "\n"), 2, 0, &[("a,b\n\"c\"\n", &["[a,b]", "[c]"])]);
}

/// The bytes of a record, those of quotes around fields among them, have a limit.
#[test]
fn long_records_are_refused() {
    let quoted = Format { enclosed: Some(b'"'), ..Format::default() };
    for (file, fits) in [
        ("abcd\n", true),
        ("abcde\n", false),
        ("ab\tcd\n", true),
        ("ab\tcde", false),
        ("abcd\t\n", true),
        ("abcd\t\"\"\n", false),
        ("abc\t\"\"\n", true),
        ("abc\t\"d\"\n", false),
        ("abcd\\", false),
        ("abc\\n\n", true),
        ("a\tb\tmuch that is skipped\n", true),
    ] {
        for by_bytes in [false, true] {
            let mut machine = Delimited::new(quoted.clone(), 2, 0, 4);
            let piece = if by_bytes { 1 } else { file.len() };
            let mut pieces = file.as_bytes().chunks(piece);
            let outcome = loop {
                match machine.step() {
                    Ok(Step::More) => match pieces.next() {
                        Some(piece) => machine.feed(piece),
                        None => machine.finish(),
                    },
                    outcome => break outcome,
                }
            };
            assert_eq!(outcome.is_ok(), fits, "{file:?}");
        }
    }
}

/// The reader drops skipped bytes, and its memory does not grow with the number of records.
#[test]
fn memory_is_bounded() {
    let mut machine = Delimited::new(Format::default(), 1, 1, 100);
    let piece = [b'x'; 1000];
    for _ in 0..1000 {
        machine.feed(&piece);
        assert_eq!(machine.step(), Ok(Step::More));
    }
    machine.feed(b"\n");
    for _ in 0..10_000 {
        assert_eq!(machine.step(), Ok(Step::More));
        machine.feed(b"a\n");
        assert_eq!(machine.step(), Ok(Step::Record));
    }
    assert!(machine.input.capacity() < 10_000);
    assert!(machine.record.bytes.capacity() < 10_000);
}

/// MySQL's reader: bytes of the whole file, taken and put back.
struct Reference {
    format: Format,
    bytes: Vec<u8>,
    position: usize,
    found_end_of_line: bool,
    eof: bool,
    line_cut: bool,
    start_of_line: bool,
    found_null: bool,
    enclosed: bool,
}

impl Reference {
    fn new(format: &Format, file: &[u8]) -> Reference {
        let mut format = format.clone();
        if format.field_end == format.line_end {
            format.line_end.clear();
        }
        Reference {
            start_of_line: !format.line_start.is_empty(),
            format,
            bytes: file.to_vec(),
            position: 0,
            found_end_of_line: false,
            eof: false,
            line_cut: false,
            found_null: false,
            enclosed: false,
        }
    }
    fn get(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.position).copied();
        self.position += usize::from(byte.is_some());
        byte
    }
    fn push(&mut self) {
        self.position -= 1;
    }
    /// The first byte of the terminator has been taken.
    fn terminator(&mut self, text: &[u8]) -> bool {
        let stands = self.bytes[self.position..].starts_with(&text[1..]);
        self.position += if stands { text.len() - 1 } else { 0 };
        stands
    }
    fn find_start(&mut self) -> bool {
        let start = self.format.line_start.clone();
        let rest = &self.bytes[self.position..];
        match rest.windows(start.len()).position(|window| window == start) {
            Some(at) => {
                self.position += at + start.len();
                true
            }
            None => {
                self.position = self.bytes.len();
                self.found_end_of_line = true;
                self.eof = true;
                false
            }
        }
    }
    fn read_field(&mut self) -> Option<Vec<u8>> {
        self.found_null = false;
        if self.found_end_of_line {
            return None;
        }
        if std::mem::take(&mut self.start_of_line) && !self.find_start() {
            return None;
        }
        let Some(first) = self.get() else {
            (self.found_end_of_line, self.eof) = (true, true);
            return None;
        };
        let Format { field_end, enclosed, escape, line_end, .. } = self.format.clone();
        let mut to = Vec::new();
        let mut found_enclosed = None;
        if Some(first) == enclosed {
            found_enclosed = enclosed;
            to.push(first);
        } else {
            self.push();
        }
        while let Some(mut byte) = self.get() {
            if Some(byte) == escape {
                match self.get() {
                    None => {
                        to.push(byte);
                        break;
                    }
                    Some(next) if escape != enclosed || next == byte => {
                        self.found_null |= next == b'N';
                        to.push(unescaped(next));
                        continue;
                    }
                    Some(_) => {
                        self.push();
                        byte = escape.unwrap();
                    }
                }
            }
            if found_enclosed.is_none()
                && line_end.first() == Some(&byte)
                && self.terminator(&line_end)
            {
                self.enclosed = false;
                self.found_end_of_line = true;
                return Some(to);
            }
            if Some(byte) == found_enclosed {
                let next = self.get();
                if next == found_enclosed {
                    to.push(byte);
                    continue;
                }
                let Some(next) = next else {
                    (self.enclosed, self.found_end_of_line) = (true, true);
                    return Some(to[1..].to_vec());
                };
                if line_end.first() == Some(&next) && self.terminator(&line_end) {
                    (self.enclosed, self.found_end_of_line) = (true, true);
                    return Some(to[1..].to_vec());
                }
                if field_end.first() == Some(&next) && self.terminator(&field_end) {
                    self.enclosed = true;
                    return Some(to[1..].to_vec());
                }
                self.push();
            } else if found_enclosed.is_none()
                && field_end.first() == Some(&byte)
                && self.terminator(&field_end)
            {
                self.enclosed = false;
                return Some(to);
            }
            to.push(byte);
        }
        self.enclosed = false;
        (self.found_end_of_line, self.eof) = (true, true);
        Some(to)
    }
    /// True at the end of the file.
    fn next_line(&mut self) -> bool {
        self.line_cut = false;
        self.start_of_line = !self.format.line_start.is_empty();
        if self.found_end_of_line || self.eof {
            self.found_end_of_line = false;
            return self.eof;
        }
        if self.format.line_end.is_empty() {
            return false;
        }
        let line_end = self.format.line_end.clone();
        loop {
            let Some(byte) = self.get() else {
                self.eof = true;
                return true;
            };
            if Some(byte) == self.format.escape {
                self.line_cut = true;
                if self.get().is_none() {
                    return true;
                }
                continue;
            }
            if line_end[0] == byte && self.terminator(&line_end) {
                return false;
            }
            self.line_cut = true;
        }
    }
    fn records(mut self, field_count: usize) -> Vec<String> {
        let mut found = Vec::new();
        loop {
            let mut fields = Vec::new();
            let mut text = String::new();
            while fields.len() < field_count {
                let Some(field) = self.read_field() else { break };
                let is_word = !self.enclosed && self.format.enclosed.is_some() && field == b"NULL";
                if is_word || self.found_null && field.len() == 1 {
                    text.push('-');
                } else {
                    text.push_str(&format!("[{}]", field.escape_ascii()));
                }
                fields.push(field);
            }
            if fields.is_empty() {
                return found;
            }
            if self.next_line() {
                found.push(text);
                return found;
            }
            if self.line_cut {
                text.push('+');
            }
            found.push(text);
        }
    }
}

/// A generator of small numbers: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// Random files of the bytes that matter, by random formats, in random pieces: as MySQL's reader has them.
#[test]
fn random_files_are_read_as_by_mysql() {
    let mut numbers = Numbers(7);
    let bytes = b"ab,;\"\\N\n\r0";
    let ends: [&[u8]; 9] = [b"", b",", b";", b",,", b",;", b",,;", b"\n", b"\r\n", b"a"];
    let single = [None, Some(b'"'), Some(b'\\'), Some(b',')];
    let mut found = 0;
    for round in 0..40_000 {
        let format = Format {
            field_end: ends[numbers.below(ends.len())].to_vec(),
            enclosed: single[numbers.below(3)],
            escape: single[numbers.below(4)],
            line_start: ends[numbers.below(14).min(8)].to_vec().repeat(usize::from(round % 4 == 0)),
            line_end: ends[numbers.below(ends.len())].to_vec(),
        };
        let length = numbers.below(40);
        let mut file = Vec::new();
        while file.len() < length {
            match numbers.below(12) {
                0 => file.extend_from_slice(b"NULL"),
                1 => file.extend_from_slice(&format.line_end),
                2 => file.extend_from_slice(&format.field_end),
                _ => file.push(bytes[numbers.below(bytes.len())]),
            }
        }
        let field_count = 1 + numbers.below(3);
        let expected = Reference::new(&format, &file).records(field_count);
        found += expected.len();
        let mut cuts: Vec<usize> =
            (0..numbers.below(6)).map(|_| numbers.below(file.len() + 1)).collect();
        cuts.sort_unstable();
        for cuts in [&[][..], &cuts] {
            let read = records(&format, field_count, 0, &file, cuts);
            let file = file.escape_ascii();
            assert_eq!(
                read, expected,
                "{file} by {format:?}, {field_count} fields, cut at {cuts:?}"
            );
        }
    }
    assert!(70_000 < found, "the files have records: {found}");
}
