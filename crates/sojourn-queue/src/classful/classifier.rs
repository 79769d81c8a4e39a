//! Which class a packet belongs to: a table by code point and one by flow, made once.

use super::MAX_CLASSES;
use crate::{Dscp, Packet};
use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use sojourn_core::registry::{Class, ParameterError};

/// Code points: six bits.
const CODE_POINTS: usize = 64;
/// Bits of a code point below its precedence.
const BELOW_PRECEDENCE: u8 = 3;
/// No class.
const NONE: u8 = u8::MAX;

/// Tells the class of a packet. Where its code point speaks for one class and its flow for another, it belongs to the
/// first of the two.
#[derive(Debug)]
pub(crate) struct Classifier {
    by_dscp: [u8; CODE_POINTS],
    by_flow: Vec<u8>,
    rest: u8,
}

impl Classifier {
    /// The tables of `classes`.
    ///
    /// # Errors
    /// None or too many classes, not exactly one for the rest, something that two classes take.
    pub(crate) fn new(classes: &[Class]) -> Result<Classifier, ParameterError> {
        let rest = rest(classes)?;
        let mut tables = Classifier { by_dscp: [NONE; CODE_POINTS], by_flow: Vec::new(), rest };
        for index in 0..classes.len() {
            tables.take_code_points(classes, index)?;
            tables.take_flows(classes, index)?;
        }
        Ok(tables)
    }

    #[inline]
    pub(crate) fn class_of<B>(&self, packet: &Packet<B>) -> usize {
        let by_flow = self.by_flow.get(packet.flow as usize).copied().unwrap_or(NONE);
        let first = self.by_dscp[usize::from(packet.dscp.number())].min(by_flow);
        usize::from(if first == NONE { self.rest } else { first })
    }

    fn take_code_points(&mut self, classes: &[Class], index: usize) -> Result<(), ParameterError> {
        let members = &classes[index].members;
        let by_name = members.dscp.iter().map(|&number| ("dscp", number));
        let by_precedence = members.precedence.iter().flat_map(|&precedence| {
            let lowest = precedence << BELOW_PRECEDENCE;
            (lowest..lowest + (1 << BELOW_PRECEDENCE)).map(|number| ("precedence", number))
        });
        for (key, number) in by_name.chain(by_precedence) {
            let owner = &mut self.by_dscp[usize::from(number)];
            if *owner != NONE && usize::from(*owner) != index {
                let other = &classes[usize::from(*owner)].name;
                let dscp = Dscp::from_number(u64::from(number)).and_then(Dscp::name);
                let shown = dscp.map_or_else(|| number.to_string(), |name| format!("{name} ({number})"));
                let rule = format!("code points that no other class takes; {shown} belongs to {other:?} already");
                return Err(ParameterError::in_class(index, key, rule));
            }
            *owner = index as u8;
        }
        Ok(())
    }

    fn take_flows(&mut self, classes: &[Class], index: usize) -> Result<(), ParameterError> {
        for group in &classes[index].members.groups {
            let end = group.flows.end as usize;
            if end > self.by_flow.len() {
                self.by_flow.resize(end, NONE);
            }
            for owner in &mut self.by_flow[group.flows.start as usize..end] {
                if *owner != NONE && usize::from(*owner) != index {
                    let other = &classes[usize::from(*owner)].name;
                    let rule =
                        format!("groups that no other class takes; {:?} belongs to {other:?} already", group.name);
                    return Err(ParameterError::in_class(index, "groups", rule));
                }
                *owner = index as u8;
            }
        }
        Ok(())
    }
}

/// The one class without a rule.
fn rest(classes: &[Class]) -> Result<u8, ParameterError> {
    if classes.is_empty() {
        let rule =
            "at least one class; exactly one has neither dscp, precedence nor groups and takes what no other takes";
        return Err(ParameterError::new("class", rule));
    }
    if classes.len() > MAX_CLASSES {
        return Err(ParameterError::new("class", format!("at most {MAX_CLASSES} classes")));
    }
    let mut all = classes.iter().enumerate().filter(|(_, class)| class.members.is_rest());
    let Some((rest, class)) = all.next() else {
        let rule = "one class with neither dscp, precedence nor groups, for the packets that no other class takes";
        return Err(ParameterError::new("class", rule));
    };
    if let Some((second, _)) = all.next() {
        let rule = format!("a class with dscp, precedence or groups: {:?} takes the rest already", class.name);
        return Err(ParameterError::in_class(second, "name", rule));
    }
    Ok(rest as u8)
}
