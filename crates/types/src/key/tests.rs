use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::row::{RowLayout, encode_row, tests::typed};
use crate::{
    Collation, ColumnDefault, Date, DateTime, Decimal, IndexKind, IndexState, IntWidth,
    NumberDisplay, SchemaVersion, TableId, TableState, Value,
};

const INT: ColumnType = ColumnType::Int { width: IntWidth::W4, unsigned: false };
const NAME: ColumnType = ColumnType::Varchar { length: 20, collation: Collation::Utf8mb40900AiCi };

fn key(
    value: ValueRef<'_>,
    column_type: &ColumnType,
    prefix: Option<u32>,
    descending: bool,
) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key_value(&mut out, value, column_type, prefix, descending);
    out
}

fn column(name: &str, column_type: ColumnType, nullable: bool, default: ColumnDefault) -> Column {
    let name = name.to_owned();
    let comment = String::new();
    let missing = match &default {
        ColumnDefault::Value(value) => Some(value.clone()),
        _ => None,
    };
    Column {
        name,
        column_type,
        nullable,
        default,
        on_update_now: false,
        comment,
        hidden: false,
        display: NumberDisplay::default(),
        generated: None,
        missing,
        is_dropped: false,
    }
}
fn index(id: u16, kind: IndexKind, columns: &[u16]) -> Index {
    let part = |&column: &u16| IndexPart { column, prefix: None, descending: false };
    Index {
        id: IndexId(id),
        name: format!("i{id}"),
        kind,
        state: IndexState::Public,
        parts: columns.iter().map(part).collect(),
        comment: String::new(),
        is_generated: false,
        algorithm: None,
    }
}
/// id INT primary key, name VARCHAR(20), added INT NOT NULL DEFAULT 7 (later), other INT NULL (later).
fn table() -> Table {
    Table {
        id: TableId(1),
        version: SchemaVersion(1),
        state: TableState::Public,
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            column("id", INT, false, ColumnDefault::None),
            column("name", NAME, true, ColumnDefault::None),
            column("added", INT, false, ColumnDefault::Value(Value::Int(7))),
            column("other", INT, true, ColumnDefault::None),
        ],
        indexes: vec![
            index(0, IndexKind::Primary, &[0]),
            index(1, IndexKind::Ordinary, &[1]),
            index(2, IndexKind::Unique { entries: TableId(2) }, &[2, 3]),
        ],
        collation: Collation::DEFAULT,
        comment: String::new(),
        engine: "InnoDB".into(),
        auto_increment: None,
        unique_of: None,
        constraints: crate::Constraints::default(),
        rewriting: crate::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    }
}

/// Key bytes are on disk and decide where rows live: they never change.
#[test]
fn bytes_are_fixed() {
    let table: [(ValueRef<'_>, ColumnType, &[u8]); 6] = [
        (ValueRef::Int(-2), INT, &[1, 0x7f, 0xff, 0xff, 0xfe]),
        (ValueRef::Null, INT, &[0]),
        (ValueRef::Double(-0.0), ColumnType::Double, &[1, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (ValueRef::Text("A1", Collation::DEFAULT), NAME, &[1, 0x70, 0x61, 0, 1]),
        (ValueRef::Bytes(b"a\0"), ColumnType::Varbinary { length: 9 }, &[1, b'a', 0, 0xff, 0, 1]),
        (ValueRef::Bytes(b"a"), ColumnType::Binary { length: 2 }, &[1, b'a', 0, 0xff, 0, 1]),
    ];
    for (value, column_type, expected) in table {
        assert_eq!(key(value, &column_type, None, false), expected, "{value:?}");
        let inverted: Vec<u8> = expected.iter().map(|byte| !byte).collect();
        assert_eq!(key(value, &column_type, None, true), inverted, "{value:?}");
    }
    assert_eq!(
        key(ValueRef::Text("éab", Collation::DEFAULT), &NAME, Some(2), false),
        key(ValueRef::Text("ea", Collation::DEFAULT), &NAME, None, false),
    );
    assert_eq!(
        key(ValueRef::Bytes(b"abc"), &ColumnType::Blob { bytes_max: 255 }, Some(2), false),
        key(ValueRef::Bytes(b"ab"), &ColumnType::Blob { bytes_max: 255 }, None, false),
    );
}

#[test]
fn keys_of_rows() {
    let table = table();
    let layout = table.row_layout();
    let text = |text| ValueRef::Text(text, Collation::DEFAULT);
    let bytes =
        encode_row(&layout, &[ValueRef::Int(5), text("Bo"), ValueRef::Int(6), ValueRef::Null]);
    let bytes = bytes.unwrap();
    let row = RowView::new(&layout, &bytes);
    let primary = primary_key_of_row(&table, &row).unwrap();
    assert_eq!(primary, primary_key_of_values(&table, &[ValueRef::Int(5)]).unwrap());

    let mut entry = Vec::new();
    index_entry_key(&table, &table.indexes[1], &row, &mut entry).unwrap();
    let prefix = index_key_prefix(&table, &table.indexes[1], &[text("bO")]).unwrap();
    assert_eq!(entry, [prefix.as_slice(), primary.as_slice()].concat());

    let mut entry = Vec::new();
    index_entry_key(&table, &table.indexes[0], &row, &mut entry).unwrap();
    assert_eq!(entry, primary);
    assert!(index_key_has_null(&table.indexes[2], &row));
    assert!(!index_key_has_null(&table.indexes[1], &row));
}

/// A row older than a column has the column's default in its keys.
#[test]
fn keys_of_older_rows() {
    let table = table();
    let layout = table.row_layout();
    let old_layout = RowLayout::new(&[INT, NAME]);
    let bytes = encode_row(&old_layout, &[ValueRef::Int(5), ValueRef::Null]).unwrap();
    let row = RowView::new(&layout, &bytes);
    assert_eq!(row.get(2), ValueRef::Int(7));
    let mut got = Vec::new();
    index_key_of_row(&table, &table.indexes[2], &row, &mut got).unwrap();
    let expected = index_key_prefix(&table, &table.indexes[2], &[ValueRef::Int(7), ValueRef::Null]);
    assert_eq!(got, expected.unwrap());
    assert!(index_key_has_null(&table.indexes[2], &row));
}

#[test]
fn too_long() {
    let mut table = table();
    table.columns[1].column_type =
        ColumnType::Varchar { length: 20_000, collation: Collation::DEFAULT };
    // Each of these is three bytes and decomposes into eighteen characters.
    let text = "\u{fdfa}".repeat(768);
    let value = ValueRef::Text(&text, Collation::DEFAULT);
    assert_eq!(index_key_prefix(&table, &table.indexes[1], &[value]), Err(KeyTooLong));
    // The longest bytes a definition may allow, all escaped, still make a key.
    table.columns[1].column_type = ColumnType::Varbinary { length: KEY_LENGTH_MAX as u32 };
    let zeros = vec![0; KEY_LENGTH_MAX];
    assert!(index_key_prefix(&table, &table.indexes[1], &[ValueRef::Bytes(&zeros)]).is_ok());
}

#[test]
fn successors() {
    assert_eq!(prefix_successor(&[1, 2]), Some(vec![1, 3]));
    assert_eq!(prefix_successor(&[1, 0xff, 0xff]), Some(vec![2]));
    assert_eq!(prefix_successor(&[0xff]), None);
    assert_eq!(prefix_successor(&[]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    /// Comparing values is comparing their keys, for every type; descending turns it around.
    #[test]
    fn order_of_keys((column_type, values) in typed(2)) {
        let (left, right) = (values[0].as_ref(), values[1].as_ref());
        let order = left.compare_same_kind(&right);
        let keys = |descending| {
            (key(left, &column_type, None, descending), key(right, &column_type, None, descending))
        };
        let (a, b) = keys(false);
        prop_assert_eq!(a.cmp(&b), order, "{:?} {:?} {:?}", column_type, left, right);
        let (a, b) = keys(true);
        prop_assert_eq!(a.cmp(&b), order.reverse(), "{:?} {:?} {:?}", column_type, left, right);
    }
    /// Parts one after the other order as tuples of values: no part runs into the next.
    #[test]
    fn order_of_tuples(
        (first_type, first) in typed(2),
        (second_type, second) in typed(2),
        descending in any::<(bool, bool)>(),
    ) {
        let encode = |index: usize| {
            let mut out = key(first[index].as_ref(), &first_type, None, descending.0);
            encode_key_value(&mut out, second[index].as_ref(), &second_type, None, descending.1);
            out
        };
        let turn = |order: Ordering, descending| if descending { order.reverse() } else { order };
        let expected = turn(first[0].as_ref().compare_same_kind(&first[1].as_ref()), descending.0)
            .then(turn(second[0].as_ref().compare_same_kind(&second[1].as_ref()), descending.1));
        prop_assert_eq!(encode(0).cmp(&encode(1)), expected);
    }
    /// A prefix key never orders two values the other way around, and equal values have equal prefixes.
    #[test]
    fn prefixes_keep_order(left in "[aAé b\u{0}]{0,6}", right in "[aAé b\u{0}]{0,6}", count in 1u32..4) {
        let collation = Collation::Utf8mb4Bin;
        let column_type = ColumnType::Varchar { length: 20, collation };
        let part = |text: &str| key(ValueRef::Text(text, collation), &column_type, Some(count), false);
        let full = |text: &str| key(ValueRef::Text(text, collation), &column_type, None, false);
        match full(&left).cmp(&full(&right)) {
            Ordering::Less => prop_assert!(part(&left) <= part(&right)),
            Ordering::Equal => prop_assert_eq!(part(&left), part(&right)),
            Ordering::Greater => prop_assert!(part(&left) >= part(&right)),
        }
    }
    /// Everything that begins with a prefix is below its successor, and the successor is the least such.
    #[test]
    fn successor_bounds(prefix in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 0..5), rest in prop::collection::vec(any::<u8>(), 0..5)) {
        let longer = [prefix.clone(), rest].concat();
        if let Some(successor) = prefix_successor(&prefix) {
            prop_assert!(longer < successor);
            let mut below = successor.clone();
            *below.last_mut().unwrap() -= 1;
            below.extend([0xff; 16]);
            prop_assert!(below.starts_with(&prefix));
        } else {
            prop_assert!(prefix.iter().all(|&byte| byte == 0xff));
        }
    }
}

/// A key tells the values it was made of, a range's bound as many as it has, unless a sort key hides the string.
#[test]
fn keys_are_decoded() {
    let mut table = table();
    let (date, time) = (Date::new(2024, 2, 29).unwrap(), Time::from_micros(-5_000_000).unwrap());
    let moment = DateTime::new(date, 23, 59, 58, 7).unwrap();
    let small = ColumnType::Int { width: IntWidth::W3, unsigned: false };
    let big = ColumnType::Int { width: IntWidth::W8, unsigned: true };
    let binary_text = ColumnType::Varchar { length: 9, collation: Collation::Utf8mb40900Bin };
    let decimal = ColumnType::Decimal { precision: 7, scale: 2, unsigned: false };
    let values = [
        (small.clone(), Value::Int(-8_388_608)),
        (small, Value::Int(17)),
        (big, Value::UInt(u64::MAX)),
        (decimal, Value::Decimal(Decimal::from_parts(-1_234_560, 2))),
        (ColumnType::Date, Value::Date(date)),
        (ColumnType::Time { fsp: 0 }, Value::Time(time)),
        (ColumnType::DateTime { fsp: 6 }, Value::DateTime(moment)),
        (ColumnType::Varbinary { length: 9 }, Value::bytes(b"a\0\x01b")),
        (binary_text, Value::text("a\0b", Collation::Utf8mb40900Bin)),
        (INT, Value::Null),
    ];
    table.columns = values
        .iter()
        .map(|(column_type, _)| column("c", column_type.clone(), true, ColumnDefault::None))
        .collect();
    let all: Vec<u16> = (0..).take(values.len()).collect();
    table.indexes = vec![index(0, IndexKind::Primary, &all), index(1, IndexKind::Ordinary, &[9])];
    table.indexes[0].parts[1].descending = true;
    let values: Vec<Value> = values.into_iter().map(|(_, value)| value).collect();
    let references: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
    for count in 0..=values.len() {
        let key = index_key_prefix(&table, &table.indexes[0], &references[..count]).unwrap();
        let decoded = decode_key(&table, &table.indexes[0], &key);
        assert_eq!(decoded.as_deref(), Some(&values[..count]));
        // (The last part is NULL, one byte.)
        if (1..values.len()).contains(&count) {
            assert_eq!(decode_key(&table, &table.indexes[0], &key[..key.len() - 1]), None);
        }
    }
    // An entry of another index ends in the primary key.
    let mut entry = index_key_prefix(&table, &table.indexes[1], &[ValueRef::Null]).unwrap();
    entry.extend(index_key_prefix(&table, &table.indexes[0], &references).unwrap());
    let decoded = decode_key(&table, &table.indexes[1], &entry).unwrap();
    assert_eq!((&decoded[0], &decoded[1..]), (&Value::Null, &values[..]));
    // What hides its value, and bytes that are no key.
    table.columns[9].column_type = NAME;
    let name = [ValueRef::Text("a", Collation::Utf8mb40900AiCi)];
    let key = index_key_prefix(&table, &table.indexes[1], &name).unwrap();
    assert_eq!(decode_key(&table, &table.indexes[1], &key), None);
    assert_eq!(decode_key(&table, &table.indexes[0], b"\x07\x00"), None);
}

/// Keys of short texts are not made to see whether they are too long: no character has more bytes of key than they allow for.
#[test]
fn bytes_of_a_text_make_few_of_a_key() {
    let mut buffer = [0; 4];
    for collation in Collation::ALL {
        let column_type = ColumnType::Varchar { length: 1, collation };
        for character in '\0'..=char::MAX {
            let text = &*character.encode_utf8(&mut buffer);
            let bytes = key(ValueRef::Text(text, collation), &column_type, None, false).len() - 3;
            let most = text.len() * collation.key_bytes_per_text_byte();
            assert!(bytes <= most, "{character:?} in {}: {bytes}", collation.name());
        }
    }
}
