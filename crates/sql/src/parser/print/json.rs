//! JSON_VALUE, MEMBER OF and JSON_TABLE as text.

use super::*;

impl Printer<'_> {
    pub(super) fn member_of(&mut self, value: &Expr, array: &Expr) {
        self.push("(");
        self.expr(value);
        self.push(" member of (");
        self.expr(array);
        self.push("))");
    }

    pub(super) fn json_value(&mut self, call: &JsonValueCall) {
        self.push("json_value(");
        self.expr(&call.document);
        self.push(",");
        self.literal(&Literal::String(call.path.clone()));
        self.push(" returning ");
        self.cast_type(&call.returning);
        self.json_response(call.on_empty.as_ref(), " on empty");
        self.json_response(call.on_error.as_ref(), " on error");
        self.push(")");
    }

    fn json_response(&mut self, response: Option<&JsonResponse>, event: &str) {
        match response {
            None => return,
            Some(JsonResponse::Null) => self.push(" null"),
            Some(JsonResponse::Error) => self.push(" error"),
            Some(JsonResponse::Default(value)) => {
                self.push(" default ");
                self.expr(value);
            }
        }
        self.push(event);
    }

    pub(super) fn json_table(&mut self, table: &JsonTable) {
        self.push("json_table(");
        self.expr(&table.document);
        self.push(", ");
        self.json_rows(&table.path, &table.columns);
        self.push(")");
        self.table_alias(table.alias.as_deref());
    }

    fn json_rows(&mut self, path: &[u8], columns: &[JsonTableColumn]) {
        self.literal(&Literal::String(path.to_vec()));
        self.push(" columns (");
        for (position, column) in columns.iter().enumerate() {
            self.push(if position == 0 { "" } else { ", " });
            self.json_column(column);
        }
        self.push(")");
    }

    fn json_column(&mut self, column: &JsonTableColumn) {
        match column {
            JsonTableColumn::Ordinality { name } => {
                self.name(name);
                self.push(" for ordinality");
            }
            JsonTableColumn::Value(value) => {
                self.name(&value.name);
                self.data_type(&value.data_type);
                self.push(" path ");
                self.literal(&Literal::String(value.path.clone()));
                self.json_response(value.on_empty.as_ref(), " on empty");
                self.json_response(value.on_error.as_ref(), " on error");
            }
            JsonTableColumn::Exists { name, data_type, path } => {
                self.name(name);
                self.data_type(data_type);
                self.push(" exists path ");
                self.literal(&Literal::String(path.clone()));
            }
            JsonTableColumn::Nested { path, columns } => {
                self.push("nested path ");
                self.json_rows(path, columns);
            }
        }
    }

    fn data_type(&mut self, data_type: &DataType) {
        let Some(name) = type_name(data_type.kind) else {
            return self.refused("a spatial type or VECTOR");
        };
        self.push(" ");
        self.push(name);
        if !data_type.members.is_empty() {
            self.push("(");
            self.list(&data_type.members, |printer, member| {
                printer.literal(&Literal::String(member.clone()));
            });
            self.push(")");
        }
        self.widths(data_type.length, data_type.scale);
        // ZEROFILL without UNSIGNED is read as both.
        self.push(if data_type.unsigned { " unsigned" } else { "" });
        self.push(if data_type.zerofill { " zerofill" } else { "" });
        if let Some(charset) = &data_type.charset {
            self.push(" character set ");
            self.charset(charset);
        }
        self.push(if data_type.binary_collation { " binary" } else { "" });
        if let Some(collation) = &data_type.collation {
            self.push(" collate ");
            self.charset(collation);
        }
    }
}

/// None for a spatial type, or a vector.
fn type_name(kind: TypeKind) -> Option<&'static str> {
    Some(match kind {
        TypeKind::TinyInt => "tinyint",
        TypeKind::Bool => "bool",
        TypeKind::SmallInt => "smallint",
        TypeKind::MediumInt => "mediumint",
        TypeKind::Int => "int",
        TypeKind::BigInt => "bigint",
        TypeKind::Decimal => "decimal",
        TypeKind::Float => "float",
        TypeKind::Double => "double",
        TypeKind::Bit => "bit",
        TypeKind::Char => "char",
        TypeKind::VarChar => "varchar",
        TypeKind::Binary => "binary",
        TypeKind::VarBinary => "varbinary",
        TypeKind::TinyText => "tinytext",
        TypeKind::Text => "text",
        TypeKind::MediumText => "mediumtext",
        TypeKind::LongText => "longtext",
        TypeKind::TinyBlob => "tinyblob",
        TypeKind::Blob => "blob",
        TypeKind::MediumBlob => "mediumblob",
        TypeKind::LongBlob => "longblob",
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        TypeKind::DateTime => "datetime",
        TypeKind::Timestamp => "timestamp",
        TypeKind::Year => "year",
        TypeKind::Enum => "enum",
        TypeKind::Set => "set",
        TypeKind::Json => "json",
        TypeKind::Geometry
        | TypeKind::Point
        | TypeKind::LineString
        | TypeKind::Polygon
        | TypeKind::MultiPoint
        | TypeKind::MultiLineString
        | TypeKind::MultiPolygon
        | TypeKind::GeometryCollection
        | TypeKind::Vector => return None,
    })
}
