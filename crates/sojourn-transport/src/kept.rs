//! Something that comes and goes, in one place in memory.

/// An option on the heap whose place stays when nothing is in it: what comes back again and again is made once.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    place: Option<Box<T>>,
    is_there: bool,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { place: None, is_there: false }
    }
}

impl<T: Copy> Kept<T> {
    /// Whether nothing is there.
    #[inline]
    pub fn is_none(&self) -> bool {
        !self.is_there
    }

    /// Whether something is there.
    #[inline]
    pub fn is_some(&self) -> bool {
        self.is_there
    }

    /// What is there.
    #[inline]
    pub fn get(&self) -> Option<T> {
        if self.is_there { self.place.as_deref().copied() } else { None }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if self.is_there { self.place.as_deref_mut() } else { None }
    }

    /// Puts `thing` there, or nothing.
    pub fn set(&mut self, thing: Option<T>) {
        self.is_there = thing.is_some();
        match (&mut self.place, thing) {
            (Some(place), Some(thing)) => **place = thing,
            (None, Some(thing)) => self.place = Some(Box::new(thing)),
            (_, None) => {}
        }
    }

    /// What was there; nothing is any more.
    pub fn take(&mut self) -> Option<T> {
        let thing = self.get();
        self.is_there = false;
        thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_an_option_whose_place_stays() {
        let mut kept = Kept::default();
        assert_eq!((kept.is_none(), kept.get(), kept.take()), (true, None, None));
        kept.set(Some(1));
        let place = std::ptr::from_ref(kept.get_mut().unwrap());
        assert_eq!((kept.is_none(), kept.take(), kept.get()), (false, Some(1), None));
        kept.set(Some(2));
        *kept.get_mut().unwrap() += 1;
        assert_eq!((kept.get(), std::ptr::from_ref(kept.get_mut().unwrap())), (Some(3), place));
        kept.set(None);
        assert_eq!((kept.is_none(), kept.get_mut()), (true, None));
    }
}
