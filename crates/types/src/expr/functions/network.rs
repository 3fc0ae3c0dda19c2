//! Internet addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::Function;
use super::Call;
use crate::{Value, ValueRef};

impl Call<'_, '_, '_> {
    pub(super) fn network(&mut self) -> Value {
        if self.values[0].is_null() {
            return Value::Int(0);
        }
        let text = self.text(0);
        match self.function {
            Function::IsIpv4 => Value::from(i64::from(text.parse::<Ipv4Addr>().is_ok())),
            Function::IsIpv6 => Value::from(i64::from(text.parse::<Ipv6Addr>().is_ok())),
            Function::InetAton => match inet_aton(&text) {
                Some(address) => Value::UInt(address),
                None => self.incorrect("string", "inet_aton"),
            },
            Function::InetNtoa => match u32::try_from(self.wide(0)) {
                Ok(address) => self.plain(Ipv4Addr::from(address).to_string()),
                Err(_) => self.incorrect("integer", "inet_ntoa"),
            },
            Function::Inet6Aton => {
                if let Ok(address) = text.parse::<Ipv4Addr>() {
                    return Value::Bytes(address.octets().into());
                }
                match text.parse::<Ipv6Addr>() {
                    Ok(address) => Value::Bytes(address.octets().into()),
                    Err(_) => self.incorrect("string", "inet6_aton"),
                }
            }
            Function::Inet6Ntoa => {
                let ValueRef::Bytes(bytes) = self.values[0] else {
                    return self.incorrect("string", "inet6_ntoa");
                };
                if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
                    return self.plain(Ipv4Addr::from(octets).to_string());
                }
                match <[u8; 16]>::try_from(bytes) {
                    Ok(octets) => self.plain(Ipv6Addr::from(octets).to_string()),
                    Err(_) => self.incorrect("string", "inet6_ntoa"),
                }
            }
            function => unreachable!("{function:?} is no function of addresses"),
        }
    }
}

/// "127.1" is 127.0.0.1: the last number fills the missing bytes' places with zeros.
fn inet_aton(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split('.').collect();
    let (last, front) = parts.split_last()?;
    if front.len() > 3 {
        return None;
    }
    let number = |part: &str| -> Option<u64> {
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        part.parse::<u8>().ok().map(u64::from)
    };
    let mut address = 0;
    for part in front {
        address = address << 8 | number(part)?;
    }
    Some(address << (8 * (4 - front.len())) | number(last)?)
}
