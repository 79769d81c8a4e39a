//! An address, or all that begin as one does.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// The addresses that share their first bits, as a network's do (RFC 4632 section 3.1, RFC 4291 section 2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    first: IpAddr,
    bits: u8,
}

impl Addresses {
    /// Whether an address is one of these.
    pub fn contain(&self, address: IpAddr) -> bool {
        let (length, own) = number(self.first);
        let (other_length, other) = number(address);
        // All bits of a shift by the whole width are gone, which an operator does not do.
        length == other_length && (own ^ other).checked_shr(u32::from(length - self.bits)).unwrap_or(0) == 0
    }
}

/// The bits of an address, and how many there are.
fn number(address: IpAddr) -> (u8, u128) {
    match address {
        IpAddr::V4(four) => (32, u128::from(u32::from(four))),
        IpAddr::V6(six) => (128, u128::from(six)),
    }
}

/// The error of a text that is neither an address nor an address and a number of bits that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoAddresses;

impl FromStr for Addresses {
    type Err = NoAddresses;

    fn from_str(text: &str) -> Result<Addresses, NoAddresses> {
        let (first, bits) = match text.split_once('/') {
            Some((first, bits)) => (first, Some(bits.parse().map_err(|_| NoAddresses)?)),
            None => (text, None),
        };
        let first = first.parse().map_err(|_| NoAddresses)?;
        let (length, _) = number(first);
        let bits = bits.unwrap_or(length);
        if bits <= length { Ok(Addresses { first, bits }) } else { Err(NoAddresses) }
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Addresses { first, bits } = self;
        if *bits == number(*first).0 { write!(formatter, "{first}") } else { write!(formatter, "{first}/{bits}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contain(these: &str, address: &str) -> bool {
        these.parse::<Addresses>().expect("addresses").contain(address.parse().expect("an address"))
    }

    #[test]
    fn an_address_is_itself_and_a_network_all_that_begin_alike() {
        for (these, inside, outside) in [
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.128/25", "192.0.2.129", "192.0.2.127"),
            ("0.0.0.0/0", "203.0.113.9", "::"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::/0", "2001:db8::1", "0.0.0.0"),
            ("2001:db8::7", "2001:db8::7", "2001:db8::6"),
        ] {
            assert!(contain(these, inside), "{these} and {inside}");
            assert!(!contain(these, outside), "{these} and {outside}");
            assert_eq!(these.parse::<Addresses>().expect("addresses").to_string(), these);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "example.org", "192.0.2", "192.0.2.0/33", "::/129", "192.0.2.0/", "192.0.2.0/-1", "::1%lo"] {
            assert_eq!(text.parse::<Addresses>(), Err(NoAddresses), "{text}");
        }
    }
}
