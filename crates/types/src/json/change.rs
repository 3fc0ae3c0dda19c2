//! Changes to a document: the value at a path set, added or removed, and documents merged.
//!
//! The paths here name one value at most: callers refuse those with wildcards and ranges.

use std::cmp::Ordering;

use super::document::{Json, Object, compare_names};
use super::path::{Leg, Path};

/// What JSON_INSERT, JSON_REPLACE and JSON_SET do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Adds a value where there is none.
    Insert,
    /// Replaces a value that is there.
    Replace,
    /// Either.
    Set,
}

/// The value that the legs lead to. A value that is no array is an array of itself where `wraps` is set.
fn find_mut<'j>(mut value: &'j mut Json, legs: &[Leg], wraps: bool) -> Option<&'j mut Json> {
    for leg in legs {
        value = match (leg, value) {
            (Leg::Member(name), Json::Object(object)) => object.get_mut(name)?,
            (Leg::Cell(index), Json::Array(elements)) => match index.place(elements.len()) {
                (place, true) => &mut elements[place],
                _ => return None,
            },
            (Leg::Cell(index), other) if wraps && index.place(1).1 => other,
            _ => return None,
        };
    }
    Some(value)
}

/// Puts a value at a path. Where only the last leg leads nowhere, the value is added there: a member, or an element at the
/// end of an array or at its start.
pub fn put(document: &mut Json, path: &Path, value: Json, put: Put) {
    if let Some(found) = find_mut(document, path.legs(), true) {
        if put != Put::Insert {
            *found = value;
        }
        return;
    }
    let Some((last, parent)) = path.legs().split_last() else { return };
    if put == Put::Replace {
        return;
    }
    let Some(parent) = find_mut(document, parent, true) else { return };
    match (last, parent) {
        (Leg::Member(name), Json::Object(object)) => object.insert(name, value),
        (Leg::Cell(index), Json::Array(elements)) => {
            elements.insert(index.place(elements.len()).0, value);
        }
        (Leg::Cell(index), other) => {
            let mut elements = vec![std::mem::replace(other, Json::Null)];
            elements.insert(index.place(1).0, value);
            *other = Json::Array(elements);
        }
        _ => {}
    }
}

/// Appends a value to the array at a path; another value there becomes an array first.
pub fn append(document: &mut Json, path: &Path, value: Json) {
    let Some(found) = find_mut(document, path.legs(), true) else { return };
    let mut elements = std::mem::replace(found, Json::Null).into_array();
    elements.push(value);
    *found = Json::Array(elements);
}

/// Inserts a value into an array at the cell that a path names: no other value counts as an array, anywhere in the path.
/// False if the path names no cell.
pub fn insert_cell(document: &mut Json, path: &Path, value: Json) -> bool {
    let Some((Leg::Cell(index), parent)) = path.legs().split_last() else { return false };
    if let Some(Json::Array(elements)) = find_mut(document, parent, false) {
        elements.insert(index.place(elements.len()).0, value);
    }
    true
}

/// Removes the value at a path, unless that is the document. A cell of a value that is no array is that value, so
/// `$.a[0]` may remove the member `a`.
pub fn remove(document: &mut Json, path: &Path) {
    let mut legs = Vec::new();
    for leg in path.legs() {
        let is_wrapped = match (leg, find_mut(document, &legs, false)) {
            (Leg::Cell(_), None | Some(Json::Array(_))) => false,
            (Leg::Cell(index), Some(_)) => index.place(1).1,
            _ => false,
        };
        if !is_wrapped {
            legs.push(leg.clone());
        }
    }
    let Some((last, parent)) = legs.split_last() else { return };
    match (last, find_mut(document, parent, false)) {
        (Leg::Member(name), Some(Json::Object(object))) => {
            object.remove(name);
        }
        (Leg::Cell(index), Some(Json::Array(elements))) => {
            if let (place, true) = index.place(elements.len()) {
                elements.remove(place);
            }
        }
        _ => {}
    }
}

/// Members of two objects by their names: each name once, with the value of one or of both.
fn pairs(
    target: Object,
    other: Object,
) -> impl Iterator<Item = (Box<str>, (Option<Json>, Option<Json>))> {
    let mut target = target.into_members().into_iter().peekable();
    let mut other = other.into_members().into_iter().peekable();
    std::iter::from_fn(move || {
        let order = match (target.peek(), other.peek()) {
            (Some((a, _)), Some((b, _))) => compare_names(a.as_bytes(), b.as_bytes()),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        Some(match order {
            Ordering::Less => {
                let (name, value) = target.next()?;
                (name, (Some(value), None))
            }
            Ordering::Equal => {
                let (name, value) = target.next()?;
                (name, (Some(value), other.next().map(|(_, value)| value)))
            }
            Ordering::Greater => {
                let (name, value) = other.next()?;
                (name, (None, Some(value)))
            }
        })
    })
}

/// RFC 7396: members of the patch replace those of the target, and null removes them; a patch that is no object replaces all.
pub fn merge_patch(target: Json, patch: Json) -> Json {
    let patch = match patch {
        Json::Object(patch) => patch,
        other => return other,
    };
    let target = match target {
        Json::Object(target) => target,
        _ => Object::default(),
    };
    let merged = pairs(target, patch).filter_map(|(name, values)| {
        let value = match values {
            (Some(own), None) => own,
            (_, Some(Json::Null)) => return None,
            (own, Some(patch)) => merge_patch(own.unwrap_or(Json::Null), patch),
            (None, None) => return None,
        };
        Some((name, value))
    });
    Json::Object(Object::of_members(merged.collect()))
}

/// Both documents in one: members of both objects, those of one name merged, or the elements of both as arrays.
pub fn merge_preserve(target: Json, other: Json) -> Json {
    match (target, other) {
        (Json::Object(target), Json::Object(other)) => {
            let merged = pairs(target, other).map(|(name, values)| {
                let value = match values {
                    (Some(own), Some(other)) => merge_preserve(own, other),
                    (own, other) => own.or(other).unwrap_or(Json::Null),
                };
                (name, value)
            });
            Json::Object(Object::of_members(merged.collect()))
        }
        (target, other) => {
            let mut elements = target.into_array();
            elements.extend(other.into_array());
            Json::Array(elements)
        }
    }
}
