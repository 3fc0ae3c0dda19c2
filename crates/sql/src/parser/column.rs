//! Column definitions: types and attributes.

use types::SqlMode;

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::expression::function;
use super::lexer::TokenKind;

impl Parser<'_> {
    /// `name type attributes`, the name already read.
    pub fn column_definition(&mut self, name: String) -> Parse<ColumnDefinition> {
        let is_serial = self.at("SERIAL");
        let data_type = if is_serial { self.serial()? } else { self.data_type()? };
        let mut column = ColumnDefinition {
            name,
            data_type,
            nullable: is_serial.then_some(false),
            default: None,
            on_update_now: None,
            auto_increment: is_serial,
            primary_key: false,
            unique: is_serial,
            comment: None,
            generated: None,
            column_format: None,
            storage: None,
            invisible: false,
            checks: Vec::new(),
            references: None,
        };
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    fn serial(&mut self) -> Parse<DataType> {
        self.expect("SERIAL")?;
        Ok(DataType { unsigned: true, ..plain_type(TypeKind::BigInt) })
    }

    /// A column's type with width, sign, character set.
    pub fn data_type(&mut self) -> Parse<DataType> {
        let at = self.token();
        let word = self.word().to_string();
        if word.is_empty() {
            return self.syntax_error();
        }
        self.advance();
        let mut data_type = plain_type(TypeKind::Int);
        data_type.kind = match word.as_str() {
            "TINYINT" | "INT1" => TypeKind::TinyInt,
            "BOOL" | "BOOLEAN" => TypeKind::Bool,
            "SMALLINT" | "INT2" => TypeKind::SmallInt,
            "MEDIUMINT" | "MIDDLEINT" | "INT3" => TypeKind::MediumInt,
            "INT" | "INTEGER" | "INT4" => TypeKind::Int,
            "BIGINT" | "INT8" => TypeKind::BigInt,
            "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => TypeKind::Decimal,
            "FLOAT" | "FLOAT4" => TypeKind::Float,
            "DOUBLE" => {
                self.accept("PRECISION");
                TypeKind::Double
            }
            "REAL" if self.has_mode(SqlMode::REAL_AS_FLOAT) => TypeKind::Float,
            "REAL" | "FLOAT8" => TypeKind::Double,
            "BIT" => TypeKind::Bit,
            "CHAR" | "CHARACTER" => {
                if self.accept("VARYING") {
                    TypeKind::VarChar
                } else {
                    TypeKind::Char
                }
            }
            "VARCHAR" | "VARCHARACTER" => TypeKind::VarChar,
            "NCHAR" | "NATIONAL" | "NVARCHAR" => {
                data_type.charset = Some("utf8mb3".to_string());
                data_type.is_national = true;
                self.national_type(&word)?
            }
            "BINARY" => TypeKind::Binary,
            "VARBINARY" => TypeKind::VarBinary,
            "TINYTEXT" => TypeKind::TinyText,
            "TEXT" => TypeKind::Text,
            "MEDIUMTEXT" => TypeKind::MediumText,
            "LONGTEXT" => TypeKind::LongText,
            "TINYBLOB" => TypeKind::TinyBlob,
            "BLOB" => TypeKind::Blob,
            "MEDIUMBLOB" => TypeKind::MediumBlob,
            "LONGBLOB" => TypeKind::LongBlob,
            "LONG" => {
                if self.accept("VARBINARY") {
                    TypeKind::MediumBlob
                } else {
                    if self.accept_any(&["CHAR", "CHARACTER"]) {
                        self.expect("VARYING")?;
                    } else {
                        self.accept_any(&["VARCHAR", "VARCHARACTER"]);
                    }
                    TypeKind::MediumText
                }
            }
            "DATE" => TypeKind::Date,
            "TIME" => TypeKind::Time,
            "DATETIME" => TypeKind::DateTime,
            "TIMESTAMP" => TypeKind::Timestamp,
            "YEAR" => TypeKind::Year,
            "ENUM" => TypeKind::Enum,
            "SET" => TypeKind::Set,
            "JSON" => TypeKind::Json,
            "GEOMETRY" => TypeKind::Geometry,
            "POINT" => TypeKind::Point,
            "LINESTRING" => TypeKind::LineString,
            "POLYGON" => TypeKind::Polygon,
            "MULTIPOINT" => TypeKind::MultiPoint,
            "MULTILINESTRING" => TypeKind::MultiLineString,
            "MULTIPOLYGON" => TypeKind::MultiPolygon,
            "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" => TypeKind::GeometryCollection,
            "VECTOR" => TypeKind::Vector,
            _ => return Err(self.error_at(at)),
        };
        self.type_arguments(&mut data_type)?;
        self.type_modifiers(&mut data_type)?;
        Ok(data_type)
    }

    /// Behind NCHAR, NATIONAL or NVARCHAR.
    fn national_type(&mut self, word: &str) -> Parse<TypeKind> {
        let is_varying = match word {
            "NVARCHAR" => true,
            "NATIONAL" if self.accept_any(&["VARCHAR", "VARCHARACTER"]) => true,
            "NATIONAL" => {
                self.expect_any(&["CHAR", "CHARACTER"])?;
                self.accept("VARYING")
            }
            _ => self.accept_any(&["VARYING", "VARCHAR", "VARCHARACTER"]),
        };
        Ok(if is_varying { TypeKind::VarChar } else { TypeKind::Char })
    }

    /// The parentheses behind a type's name, as far as the type takes them.
    fn type_arguments(&mut self, data_type: &mut DataType) -> Parse<()> {
        match data_type.kind {
            TypeKind::Enum | TypeKind::Set => {
                data_type.members = self.paren_list(|parser| {
                    let is_hex =
                        matches!(parser.kind(), TokenKind::HexString | TokenKind::HexNumber);
                    if is_hex && let Expr::Literal(Literal::Hex(value)) = parser.literal()? {
                        return Ok(value);
                    }
                    parser.string_bytes()
                })?;
            }
            TypeKind::VarChar | TypeKind::VarBinary => {
                self.expect_kind(TokenKind::LeftParen)?;
                data_type.length = Some(self.width()?);
                self.expect_kind(TokenKind::RightParen)?;
            }
            TypeKind::Decimal | TypeKind::Float | TypeKind::Double => {
                let at = self.token();
                let (length, scale) = self.optional_widths()?;
                // Only FLOAT and DECIMAL have a precision alone.
                if data_type.kind == TypeKind::Double && length.is_some() && scale.is_none() {
                    return Err(self.error_at(at));
                }
                data_type.length = length;
                data_type.scale = scale;
            }
            TypeKind::TinyInt
            | TypeKind::SmallInt
            | TypeKind::MediumInt
            | TypeKind::Int
            | TypeKind::BigInt
            | TypeKind::Bit
            | TypeKind::Char
            | TypeKind::Binary
            | TypeKind::Text
            | TypeKind::Blob
            | TypeKind::Time
            | TypeKind::DateTime
            | TypeKind::Timestamp
            | TypeKind::Year
            | TypeKind::Vector => data_type.length = self.optional_width()?,
            TypeKind::Bool
            | TypeKind::TinyText
            | TypeKind::MediumText
            | TypeKind::LongText
            | TypeKind::TinyBlob
            | TypeKind::MediumBlob
            | TypeKind::LongBlob
            | TypeKind::Date
            | TypeKind::Json
            | TypeKind::Geometry
            | TypeKind::Point
            | TypeKind::LineString
            | TypeKind::Polygon
            | TypeKind::MultiPoint
            | TypeKind::MultiLineString
            | TypeKind::MultiPolygon
            | TypeKind::GeometryCollection => {}
        }
        Ok(())
    }

    /// UNSIGNED, ZEROFILL, CHARACTER SET, BINARY, ...: what belongs to the type.
    fn type_modifiers(&mut self, data_type: &mut DataType) -> Parse<()> {
        let is_number = matches!(
            data_type.kind,
            TypeKind::TinyInt
                | TypeKind::SmallInt
                | TypeKind::MediumInt
                | TypeKind::Int
                | TypeKind::BigInt
                | TypeKind::Decimal
                | TypeKind::Float
                | TypeKind::Double
                | TypeKind::Year
        );
        let is_text = matches!(
            data_type.kind,
            TypeKind::Char
                | TypeKind::VarChar
                | TypeKind::TinyText
                | TypeKind::Text
                | TypeKind::MediumText
                | TypeKind::LongText
                | TypeKind::Enum
                | TypeKind::Set
        );
        loop {
            match self.word() {
                "UNSIGNED" if is_number => data_type.unsigned = true,
                "SIGNED" if is_number => {}
                "ZEROFILL" if is_number => {
                    data_type.unsigned = true;
                    data_type.zerofill = true;
                }
                "CHARSET" if is_text => {
                    self.advance();
                    data_type.charset = Some(self.charset_name()?);
                    continue;
                }
                "CHARACTER" | "CHAR" if is_text && self.next_is("SET") => {
                    self.advance();
                    self.advance();
                    data_type.charset = Some(self.charset_name()?);
                    continue;
                }
                "ASCII" if is_text => data_type.charset = Some("latin1".to_string()),
                "UNICODE" if is_text => data_type.charset = Some("ucs2".to_string()),
                "BYTE" if is_text => data_type.charset = Some("binary".to_string()),
                "BINARY" if is_text => data_type.binary_collation = true,
                _ => return Ok(()),
            }
            self.advance();
        }
    }

    /// `(n)`, if it is there.
    pub fn optional_width(&mut self) -> Parse<Option<u64>> {
        if !self.accept_kind(TokenKind::LeftParen) {
            return Ok(None);
        }
        let width = self.width()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Some(width))
    }

    /// `(n)` or `(n, m)`, if it is there.
    pub fn optional_widths(&mut self) -> Parse<(Option<u64>, Option<u64>)> {
        if !self.accept_kind(TokenKind::LeftParen) {
            return Ok((None, None));
        }
        let first = self.width()?;
        let second = if self.accept_kind(TokenKind::Comma) { Some(self.width()?) } else { None };
        self.expect_kind(TokenKind::RightParen)?;
        Ok((Some(first), second))
    }

    /// One attribute; false when there is none.
    fn column_attribute(&mut self, column: &mut ColumnDefinition) -> Parse<bool> {
        match self.word() {
            "NOT" => {
                self.advance();
                if self.accept("SECONDARY") {
                    return Ok(true);
                }
                self.expect("NULL")?;
                column.nullable = Some(false);
            }
            "NULL" => {
                self.advance();
                column.nullable = Some(true);
            }
            "DEFAULT" => {
                self.advance();
                column.default = Some(self.default_value()?);
            }
            "ON" => {
                self.advance();
                self.expect("UPDATE")?;
                column.on_update_now = Some(self.now_precision()?);
            }
            "AUTO_INCREMENT" => {
                self.advance();
                column.auto_increment = true;
            }
            "PRIMARY" => {
                self.advance();
                self.expect("KEY")?;
                column.primary_key = true;
            }
            "KEY" => {
                self.advance();
                column.primary_key = true;
            }
            "UNIQUE" => {
                self.advance();
                self.accept("KEY");
                column.unique = true;
            }
            "SERIAL" => {
                self.advance();
                self.expect("DEFAULT")?;
                self.expect("VALUE")?;
                column.nullable = Some(false);
                column.auto_increment = true;
                column.unique = true;
            }
            "COMMENT" => {
                self.advance();
                column.comment = Some(self.string_text()?);
            }
            "COLLATE" => {
                self.advance();
                column.data_type.collation = Some(self.charset_name()?);
            }
            // MySQL takes a character set behind other attributes only from old dumps.
            "CHARACTER" | "CHARSET" => {
                self.advance();
                self.accept("SET");
                column.data_type.charset = Some(self.charset_name()?);
            }
            "GENERATED" => {
                self.advance();
                self.expect("ALWAYS")?;
                self.generated(column)?;
            }
            "AS" => self.generated(column)?,
            "COLUMN_FORMAT" => {
                self.advance();
                column.column_format = Some(self.option_word()?);
            }
            "STORAGE" => {
                self.advance();
                column.storage = Some(self.option_word()?);
            }
            "VISIBLE" => self.advance(),
            "INVISIBLE" => {
                self.advance();
                column.invisible = true;
            }
            "ENGINE_ATTRIBUTE" | "SECONDARY_ENGINE_ATTRIBUTE" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                self.string_bytes()?;
            }
            "SRID" => {
                self.advance();
                self.unsigned()?;
            }
            "REFERENCES" => column.references = Some(self.references()?),
            "CONSTRAINT" => {
                self.advance();
                let name = if self.at("CHECK") { None } else { Some(self.name()?) };
                let check = self.check(name)?;
                column.checks.push(check);
            }
            "CHECK" => {
                let check = self.check(None)?;
                column.checks.push(check);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An upper-cased word, DEFAULT included.
    fn option_word(&mut self) -> Parse<String> {
        let word = self.word().to_string();
        if word.is_empty() {
            return self.syntax_error();
        }
        self.advance();
        Ok(word)
    }

    /// Behind DEFAULT.
    pub fn default_value(&mut self) -> Parse<DefaultClause> {
        if self.at_kind(TokenKind::LeftParen) {
            self.advance();
            let expr = self.expression()?;
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(DefaultClause::Expression(expr));
        }
        let is_now =
            matches!(self.word(), "CURRENT_TIMESTAMP" | "NOW" | "LOCALTIME" | "LOCALTIMESTAMP");
        if is_now {
            let fsp = self.now_precision()?;
            let arguments = if fsp == 0 {
                Vec::new()
            } else {
                vec![Expr::Literal(Literal::Integer(u64::from(fsp)))]
            };
            return Ok(DefaultClause::Value(function("NOW", arguments)));
        }
        // MySQL wants parentheses around a call; MariaDB's SHOW CREATE TABLE leaves them out.
        Ok(match self.simple_expression()? {
            call @ Expr::Function { .. } => DefaultClause::Expression(call),
            value => DefaultClause::Value(value),
        })
    }

    /// CURRENT_TIMESTAMP, CURRENT_TIMESTAMP(), NOW(3): the digits, at most 6.
    fn now_precision(&mut self) -> Parse<u8> {
        self.expect_any(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"])?;
        if !self.accept_kind(TokenKind::LeftParen) {
            return Ok(0);
        }
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(0);
        }
        let at = self.token();
        let fsp = self.unsigned()?;
        self.expect_kind(TokenKind::RightParen)?;
        match u8::try_from(fsp) {
            Ok(fsp) if fsp <= 6 => Ok(fsp),
            _ => Err(self.error_at(at)),
        }
    }

    /// At AS: `AS (expr) [VIRTUAL|STORED]`.
    fn generated(&mut self, column: &mut ColumnDefinition) -> Parse<()> {
        self.expect("AS")?;
        self.expect_kind(TokenKind::LeftParen)?;
        let expr = self.expression()?;
        self.expect_kind(TokenKind::RightParen)?;
        let stored = self.accept_any(&["STORED", "PERSISTENT"]);
        if !stored {
            self.accept("VIRTUAL");
        }
        column.generated = Some(Generated { expr, stored });
        Ok(())
    }

    /// At CHECK.
    pub fn check(&mut self, name: Option<String>) -> Parse<Check> {
        self.expect("CHECK")?;
        self.expect_kind(TokenKind::LeftParen)?;
        let expr = self.expression()?;
        self.expect_kind(TokenKind::RightParen)?;
        let enforced = !self.accept_two("NOT", "ENFORCED");
        if enforced {
            self.accept("ENFORCED");
        }
        Ok(Check { name, expr, enforced, columns_before: 0 })
    }
}

pub(super) fn plain_type(kind: TypeKind) -> DataType {
    DataType {
        kind,
        length: None,
        scale: None,
        unsigned: false,
        zerofill: false,
        charset: None,
        collation: None,
        is_national: false,
        binary_collation: false,
        members: Vec::new(),
    }
}
