//! Delimited text: the files of LOAD DATA as records of fields.
//!
//! [`Delimited`] is a pure state machine. The caller feeds it pieces of a file and takes records out; the result does not
//! depend on where the pieces are cut. Where a decision needs bytes that have not arrived (the second half of a terminator,
//! the byte behind an escape), the machine keeps its position and reports [`Step::More`]. No byte of a field is read twice,
//! so a field of any length costs time in proportion to it.
//!
//! The grammar is MySQL's, which has no errors: every file is a sequence of records. A record has a fixed number of fields;
//! what a line has beyond them is skipped, and fields that a line lacks are missing in its record.

/// What separates fields and lines: the clauses FIELDS and LINES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// FIELDS TERMINATED BY. Empty: a field ends with its line.
    pub field_end: Vec<u8>,
    /// ENCLOSED BY.
    pub enclosed: Option<u8>,
    /// ESCAPED BY.
    pub escape: Option<u8>,
    /// LINES STARTING BY: what stands before it, on the line or on lines before, is skipped.
    pub line_start: Vec<u8>,
    /// LINES TERMINATED BY. Empty: a record ends with its last field.
    pub line_end: Vec<u8>,
}

impl Default for Format {
    /// The format of LOAD DATA without FIELDS and LINES.
    fn default() -> Format {
        Format {
            field_end: b"\t".to_vec(),
            enclosed: None,
            escape: Some(b'\\'),
            line_start: Vec::new(),
            line_end: b"\n".to_vec(),
        }
    }
}

/// A line of the file. Its fields are those that the line has, at most as many as the caller wants.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    fields: Vec<FieldRange>,
    /// The line had more than its last field. Not set by a last line without terminator, as in MySQL.
    is_cut: bool,
}

/// A field in the bytes of its record.
#[derive(Debug)]
struct FieldRange {
    start: usize,
    end: usize,
    is_null: bool,
}

impl Record {
    /// Fields that the line had.
    pub fn field_count(&self) -> usize {
        self.fields.len()
    }
    /// The bytes of a field, unescaped; `None` for NULL. Panics if the line had no such field.
    pub fn field(&self, number: usize) -> Option<&[u8]> {
        let field = &self.fields[number];
        (!field.is_null).then(|| &self.bytes[field.start..field.end])
    }
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
    /// Bytes of all fields.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
        self.is_cut = false;
    }
}

/// What [`Delimited::step`] has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next piece of the file is needed, or its end.
    More,
    /// [`Delimited::record`] is the next record.
    Record,
    /// There are no more records.
    End,
}

/// The fields of a record have more bytes than [`Delimited::new`] was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTooLong;

/// A place in the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    RecordStart,
    /// In a line of IGNORE n LINES.
    IgnoredLine,
    /// Before LINES STARTING BY.
    LineStart,
    FieldStart,
    Field {
        enclosed: bool,
    },
    /// Behind the last field.
    LineRest,
    /// Behind the record that the caller has.
    Delivered,
    End,
}

/// What ended a field or a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Field,
    Line,
    File,
}

/// A byte of the input, at the position or behind it.
enum Peeked {
    Byte(u8),
    /// It has not arrived.
    Wait,
    End,
}

enum Matched {
    Yes,
    No,
    Wait,
}

pub struct Delimited {
    format: Format,
    /// Fields of a record at most.
    field_count: usize,
    record_size_max: usize,
    /// Lines, or records where lines have no terminator, that are still to be ignored.
    ignored: u64,
    input: Vec<u8>,
    /// Bytes of `input` that have been read.
    position: usize,
    /// `input` ends with the last byte of the file.
    is_whole: bool,
    state: State,
    record: Record,
    /// Where the field under way begins in the bytes of the record.
    field_start: usize,
    /// The field under way has an escaped N.
    has_null_mark: bool,
    /// Bytes that begin something else than a byte of a field.
    is_special: [bool; 256],
}

impl Delimited {
    /// `field_count` is that of a record. `ignored` is of IGNORE n LINES. The fields of a record may have `record_size_max`
    /// bytes together.
    pub fn new(
        mut format: Format,
        field_count: usize,
        ignored: u64,
        record_size_max: usize,
    ) -> Delimited {
        let mut ignored = ignored;
        if format.field_end == format.line_end {
            // Like MySQL: then there are no lines, and none that could be ignored.
            ignored = if format.line_end.is_empty() { ignored } else { 0 };
            format.line_end.clear();
        }
        let mut is_special = [false; 256];
        let first_bytes = [
            format.escape,
            format.enclosed,
            format.field_end.first().copied(),
            format.line_end.first().copied(),
        ];
        for byte in first_bytes.into_iter().flatten() {
            is_special[usize::from(byte)] = true;
        }
        Delimited {
            format,
            field_count,
            record_size_max,
            ignored,
            input: Vec::new(),
            position: 0,
            is_whole: false,
            state: State::RecordStart,
            record: Record::default(),
            field_start: 0,
            has_null_mark: false,
            is_special,
        }
    }

    /// Takes the next piece of the file. For when [`Delimited::step`] wants more: else pieces pile up.
    pub fn feed(&mut self, piece: &[u8]) {
        assert!(!self.is_whole, "the file has ended");
        self.input.drain(..self.position);
        self.position = 0;
        self.input.extend_from_slice(piece);
    }
    /// There are no further pieces.
    pub fn finish(&mut self) {
        self.is_whole = true;
    }
    /// The record that [`Delimited::step`] has found.
    pub fn record(&self) -> &Record {
        assert_eq!(self.state, State::Delivered, "a step has found a record");
        &self.record
    }

    /// Goes on to the next record.
    pub fn step(&mut self) -> Result<Step, RecordTooLong> {
        loop {
            let next = match self.state {
                State::RecordStart => Some(self.begin_record()),
                State::IgnoredLine => self.skip_line().map(|ended| match ended {
                    Ended::File => State::End,
                    Ended::Field | Ended::Line => {
                        self.ignored -= 1;
                        State::RecordStart
                    }
                }),
                State::LineStart => self.find_line_start(),
                State::FieldStart => self.begin_field()?,
                State::Field { enclosed } => {
                    let ended = self.read_field(enclosed)?;
                    ended.map(|ended| self.end_field(ended))
                }
                State::LineRest => {
                    let has_lines = !self.format.line_end.is_empty();
                    let ended = if has_lines { self.skip_line() } else { Some(Ended::Line) };
                    if ended == Some(Ended::File) {
                        // MySQL has nothing to say about the end of such a line.
                        self.record.is_cut = false;
                    }
                    ended.map(|_| State::Delivered)
                }
                State::Delivered => Some(State::RecordStart),
                State::End => return Ok(Step::End),
            };
            match next {
                None => return Ok(Step::More),
                Some(State::Delivered) if self.ignores_record() => self.state = State::RecordStart,
                Some(State::Delivered) => {
                    self.state = State::Delivered;
                    return Ok(Step::Record);
                }
                Some(state) => self.state = state,
            }
        }
    }

    fn begin_record(&mut self) -> State {
        self.record.clear();
        if 0 < self.ignored && !self.format.line_end.is_empty() {
            State::IgnoredLine
        } else if !self.format.line_start.is_empty() {
            State::LineStart
        } else {
            State::FieldStart
        }
    }

    /// IGNORE n LINES ignores records where lines have no terminator.
    fn ignores_record(&mut self) -> bool {
        let ignores = 0 < self.ignored;
        self.ignored = self.ignored.saturating_sub(1);
        ignores
    }

    fn begin_field(&mut self) -> Result<Option<State>, RecordTooLong> {
        self.field_start = self.record.bytes.len();
        self.has_null_mark = false;
        Ok(match self.peek(0) {
            Peeked::Wait => None,
            Peeked::End if self.record.fields.is_empty() => Some(State::End),
            Peeked::End => Some(State::Delivered),
            Peeked::Byte(byte) if Some(byte) == self.format.enclosed => {
                // Kept until the field ends as an enclosed one.
                self.take(byte, 1)?;
                Some(State::Field { enclosed: true })
            }
            Peeked::Byte(_) => Some(State::Field { enclosed: false }),
        })
    }

    /// The field under way has all its bytes.
    fn end_field(&mut self, ended: Ended) -> State {
        let is_last = self.record.fields.len() == self.field_count;
        match ended {
            Ended::Field if is_last => State::LineRest,
            Ended::Field => State::FieldStart,
            Ended::Line | Ended::File => State::Delivered,
        }
    }

    fn push_field(&mut self, is_enclosed: bool) {
        let start = self.field_start + usize::from(is_enclosed);
        let end = self.record.bytes.len();
        let text = &self.record.bytes[start..end];
        // The word is NULL only where enclosing could have made it a text.
        let is_word = !is_enclosed && self.format.enclosed.is_some() && text == b"NULL";
        let is_null = is_word || self.has_null_mark && text.len() == 1;
        self.record.fields.push(FieldRange { start, end, is_null });
    }

    /// Reads to the end of the field under way; `None` where the input ends before.
    fn read_field(&mut self, enclosed: bool) -> Result<Option<Ended>, RecordTooLong> {
        loop {
            self.copy_plain()?;
            let byte = match self.peek(0) {
                Peeked::Wait => return Ok(None),
                Peeked::End => return Ok(Some(self.end_of_file())),
                Peeked::Byte(byte) => byte,
            };
            if Some(byte) == self.format.escape {
                match self.peek(1) {
                    Peeked::Wait => return Ok(None),
                    Peeked::End => {
                        self.take(byte, 1)?;
                        return Ok(Some(self.end_of_file()));
                    }
                    // An escape that is the enclosing byte, too, escapes nothing but itself.
                    Peeked::Byte(next) if self.format.enclosed != Some(byte) || next == byte => {
                        self.has_null_mark |= next == b'N';
                        self.take(unescaped(next), 2)?;
                        continue;
                    }
                    Peeked::Byte(_) => {}
                }
            }
            let ended = match enclosed {
                true if Some(byte) == self.format.enclosed => self.end_of_enclosed()?,
                true => Some(None),
                false => self.end_of_plain(),
            };
            match ended {
                None => return Ok(None),
                Some(Some(ended)) => {
                    self.push_field(enclosed);
                    return Ok(Some(ended));
                }
                Some(None) => self.take(byte, 1)?,
            }
        }
    }

    /// At a byte of a field that is not enclosed: `Some(None)` where it ends nothing.
    fn end_of_plain(&mut self) -> Option<Option<Ended>> {
        for (ended, length) in self.terminators() {
            match self.matches(ended, 0) {
                Matched::Wait => return None,
                Matched::No => {}
                Matched::Yes => {
                    self.position += length;
                    return Some(Some(ended));
                }
            }
        }
        Some(None)
    }

    /// At the enclosing byte in an enclosed field: it is doubled, ends the field, or belongs to it (`Some(None)`).
    fn end_of_enclosed(&mut self) -> Result<Option<Option<Ended>>, RecordTooLong> {
        match self.peek(1) {
            Peeked::Wait => return Ok(None),
            Peeked::End => {
                self.position += 1;
                return Ok(Some(Some(Ended::Line)));
            }
            Peeked::Byte(next) if Some(next) == self.format.enclosed => {
                // The first of the two; the caller takes the second one.
                self.position += 1;
                return Ok(Some(None));
            }
            Peeked::Byte(_) => {}
        }
        for (ended, length) in self.terminators() {
            match self.matches(ended, 1) {
                Matched::Wait => return Ok(None),
                Matched::No => {}
                Matched::Yes => {
                    self.position += 1 + length;
                    return Ok(Some(Some(ended)));
                }
            }
        }
        Ok(Some(None))
    }

    /// The file ends in a field: one that is not enclosed to its end keeps the byte that began it.
    fn end_of_file(&mut self) -> Ended {
        self.push_field(false);
        Ended::File
    }

    /// Skips the rest of a line, with its terminator.
    fn skip_line(&mut self) -> Option<Ended> {
        loop {
            let rest = &self.input[self.position..];
            let is_special = |byte: &u8| {
                Some(*byte) == self.format.escape || Some(byte) == self.format.line_end.first()
            };
            let run = rest.iter().position(is_special).unwrap_or(rest.len());
            self.record.is_cut |= 0 < run;
            self.position += run;
            let byte = match self.peek(0) {
                Peeked::Wait => return None,
                Peeked::End => return Some(Ended::File),
                Peeked::Byte(byte) => byte,
            };
            if Some(byte) == self.format.escape {
                match self.peek(1) {
                    Peeked::Wait => return None,
                    Peeked::End => {
                        self.position += 1;
                        return Some(Ended::File);
                    }
                    Peeked::Byte(_) => self.position += 2,
                }
            } else {
                match self.matches(Ended::Line, 0) {
                    Matched::Wait => return None,
                    Matched::Yes => {
                        self.position += self.format.line_end.len();
                        return Some(Ended::Line);
                    }
                    Matched::No => self.position += 1,
                }
            }
            self.record.is_cut = true;
        }
    }

    fn find_line_start(&mut self) -> Option<State> {
        let first = self.format.line_start[0];
        loop {
            let rest = &self.input[self.position..];
            self.position += rest.iter().position(|byte| *byte == first).unwrap_or(rest.len());
            match self.peek(0) {
                Peeked::Wait => return None,
                Peeked::End => return Some(State::End),
                Peeked::Byte(_) => {}
            }
            match self.matches_text(&self.format.line_start, 0) {
                Matched::Wait => return None,
                Matched::No => self.position += 1,
                Matched::Yes => {
                    self.position += self.format.line_start.len();
                    return Some(State::FieldStart);
                }
            }
        }
    }

    /// Copies bytes up to one that may end the field.
    fn copy_plain(&mut self) -> Result<(), RecordTooLong> {
        let rest = &self.input[self.position..];
        let is_special = |byte: &u8| self.is_special[usize::from(*byte)];
        let run = rest.iter().position(is_special).unwrap_or(rest.len());
        if self.room() < run {
            return Err(RecordTooLong);
        }
        self.record.bytes.extend_from_slice(&rest[..run]);
        self.position += run;
        Ok(())
    }

    /// Bytes that the record may still get.
    fn room(&self) -> usize {
        self.record_size_max - self.record.bytes.len()
    }

    /// Appends a byte to the field for a number of bytes of the input.
    fn take(&mut self, byte: u8, count: usize) -> Result<(), RecordTooLong> {
        if self.room() == 0 {
            return Err(RecordTooLong);
        }
        self.record.bytes.push(byte);
        self.position += count;
        Ok(())
    }

    /// The two terminators with their lengths. That of a line is looked for first.
    fn terminators(&self) -> [(Ended, usize); 2] {
        let Format { field_end, line_end, .. } = &self.format;
        [(Ended::Line, line_end.len()), (Ended::Field, field_end.len())]
    }

    fn matches(&self, terminator: Ended, offset: usize) -> Matched {
        match terminator {
            Ended::Line => self.matches_text(&self.format.line_end, offset),
            Ended::Field => self.matches_text(&self.format.field_end, offset),
            Ended::File => Matched::No,
        }
    }

    /// Does the text stand in the input, this far behind the position? An empty text stands nowhere.
    fn matches_text(&self, text: &[u8], offset: usize) -> Matched {
        for (number, wanted) in text.iter().enumerate() {
            match self.peek(offset + number) {
                Peeked::Byte(byte) if byte == *wanted => {}
                Peeked::Byte(_) | Peeked::End => return Matched::No,
                Peeked::Wait => return Matched::Wait,
            }
        }
        if text.is_empty() { Matched::No } else { Matched::Yes }
    }

    fn peek(&self, offset: usize) -> Peeked {
        match self.input.get(self.position + offset) {
            Some(byte) => Peeked::Byte(*byte),
            None if self.is_whole => Peeked::End,
            None => Peeked::Wait,
        }
    }
}

/// What an escaped byte stands for.
fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests;
