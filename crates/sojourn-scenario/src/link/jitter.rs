//! Random delay of packets that have crossed a link.

use crate::declare::{Held, Table, flag, span, table};
use crate::fields::Item;
use crate::form::{Form, PATH_DELAY, Select};
use sojourn_core::Span;

pub(super) static JITTER: Select = Select { kinds: &[&UNIFORM, &NORMAL], added: None, short: Some(("uniform", "max")) };

table! {
    /// uniform from zero to a maximum
    pub(crate) struct Uniform = UNIFORM, "uniform" => {
        /// longest additional delay
        max: Span = span(PATH_DELAY).required("10 ms"),
        /// whether a packet may overtake an earlier one; if not, it waits for it
        reorder: bool = flag().or("false", "true"),
    }
}

table! {
    /// normal, cut off at zero
    pub(crate) struct Normal = NORMAL, "normal" => {
        /// mean of the additional delay
        mean: Span = span(PATH_DELAY).required("5 ms"),
        /// standard deviation of the additional delay
        sd: Span = span(PATH_DELAY).required("1 ms"),
        /// whether a packet may overtake an earlier one; if not, it waits for it
        reorder: bool = flag().or("false", "true"),
    }
}

/// Random delay of packets that have crossed a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Jitter {
    /// Its distribution.
    pub shape: Shape,
    /// Whether a packet may overtake an earlier one; if not, it waits for it.
    pub reorder: bool,
}

/// A distribution of delays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// Uniform from zero to this.
    Uniform(Span),
    /// Normal with mean and standard deviation, cut off at zero.
    Normal(Span, Span),
}

impl Held for Jitter {
    fn from_item(item: Option<&Item>) -> Option<Jitter> {
        let Item::Table(fields) = item? else { return None };
        Some(match fields.section.name {
            "uniform" => {
                let Uniform { max, reorder } = Uniform::read(fields)?;
                Jitter { shape: Shape::Uniform(max), reorder }
            }
            "normal" => {
                let Normal { mean, sd, reorder } = Normal::read(fields)?;
                Jitter { shape: Shape::Normal(mean, sd), reorder }
            }
            other => unreachable!("no jitter is called {other}"),
        })
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        let reorder = self.reorder;
        Some(Item::Table(match self.shape {
            Shape::Uniform(max) => Uniform { max, reorder }.fields(),
            Shape::Normal(mean, sd) => Normal { mean, sd, reorder }.fields(),
        }))
    }
}
