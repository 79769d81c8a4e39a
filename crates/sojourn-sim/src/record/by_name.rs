//! Parts of a record that have names, in the order of the scenario.

use serde::{Serialize, Serializer};
use std::ops::Index;

/// Parts by name, as the scenario lists them: a reader follows links along a way, not along the alphabet.
#[derive(Clone, Debug)]
pub struct ByName<T>(Vec<(String, T)>);

impl<T> ByName<T> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and parts.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &T)> {
        self.0.iter().map(|(name, part)| (name, part))
    }
}

impl<T> FromIterator<(String, T)> for ByName<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(parts: I) -> Self {
        ByName(parts.into_iter().collect())
    }
}

impl<T, Name: AsRef<str> + ?Sized> Index<&Name> for ByName<T> {
    type Output = T;

    /// The part with this name, which there must be.
    fn index(&self, name: &Name) -> &T {
        let found = self.0.iter().find(|(own, _)| own == name.as_ref());
        &found.unwrap_or_else(|| panic!("nothing is called {}", name.as_ref())).1
    }
}

impl<T: Serialize> Serialize for ByName<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
