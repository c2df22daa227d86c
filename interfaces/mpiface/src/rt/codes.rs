//! Error classes and codes that a program adds and removes, and its texts for them.

use super::error::class_text;
use super::standard::ERR_LASTCODE as LAST;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;

/// A rank's own codes: the one after `LAST` is the first.
#[derive(Debug)]
pub struct Codes {
    /// The class of each, but of those that were removed; a class is its own.
    classes: Vec<Option<c_int>>,
    texts: HashMap<c_int, String>,
    /// The number of the last one, as an attribute of the world: at an address that stays.
    last: Box<Cell<c_int>>,
}

impl Default for Codes {
    fn default() -> Codes {
        Codes { classes: Vec::new(), texts: HashMap::new(), last: Box::new(Cell::new(LAST)) }
    }
}

impl Codes {
    fn add(&mut self, class: Option<c_int>) -> c_int {
        let code = self.last.get() + 1;
        self.last.set(code);
        self.classes.push(Some(class.unwrap_or(code)));
        code
    }

    /// A new class.
    pub fn add_class(&mut self) -> c_int {
        self.add(None)
    }

    /// A new code of a class; none if that is none.
    pub fn add_code(&mut self, class: c_int) -> Option<c_int> {
        let is_class = self.class(class) == Some(class);
        is_class.then(|| self.add(Some(class)))
    }

    /// The class of a code, if it is one.
    pub fn class(&self, code: c_int) -> Option<c_int> {
        if (0..=LAST).contains(&code) {
            return Some(code);
        }
        let own = code.checked_sub(LAST + 1)?;
        *self.classes.get(usize::try_from(own).ok()?)?
    }

    /// Whether it is a program's own.
    pub fn is_own(&self, code: c_int) -> bool {
        code > LAST && self.class(code).is_some()
    }

    /// Removes a class of the program's own, to which no code belongs.
    ///
    /// # Errors
    /// If it is another.
    pub fn remove_class(&mut self, class: c_int) -> Result<(), &'static str> {
        if !self.is_own(class) || self.class(class) != Some(class) {
            return Err("is no error class of the program's own");
        }
        if self.classes.iter().filter(|it| **it == Some(class)).count() > 1 {
            return Err("has error codes");
        }
        self.remove(class);
        Ok(())
    }

    /// Removes a code of the program's own.
    ///
    /// # Errors
    /// If it is another.
    pub fn remove_code(&mut self, code: c_int) -> Result<(), &'static str> {
        if !self.is_own(code) || self.class(code) == Some(code) {
            return Err("is no error code of the program's own");
        }
        self.remove(code);
        Ok(())
    }

    /// The numbers at the end are given again; those before them are not, so that a new code is
    /// never a removed one that a program still holds while others are in use behind it.
    fn remove(&mut self, code: c_int) {
        self.texts.remove(&code);
        self.classes[(code - LAST - 1) as usize] = None;
        while self.classes.pop_if(|it| it.is_none()).is_some() {
            self.last.set(self.last.get() - 1);
        }
    }

    /// Removes the text of a program's own code.
    ///
    /// # Errors
    /// If there is none.
    pub fn remove_text(&mut self, code: c_int) -> Result<(), &'static str> {
        match self.texts.remove(&code) {
            Some(_) => Ok(()),
            None => Err("has no text of the program's own"),
        }
    }

    /// Sets the text of a program's own code.
    pub fn set_text(&mut self, code: c_int, text: String) {
        self.texts.insert(code, text);
    }

    /// The words for a code: none yet for a new one.
    pub fn text(&self, code: c_int) -> &str {
        match self.texts.get(&code) {
            Some(text) => text,
            None if self.is_own(code) => "",
            None => class_text(code),
        }
    }

    /// The address of the number of the last code.
    pub fn last(&self) -> usize {
        self.last.as_ptr() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_belong_to_classes() {
        let mut codes = Codes::default();
        let class = codes.add_class();
        let code = codes.add_code(class).expect("a class");
        let other = codes.add_code(13).expect("one of the standard's");
        assert_eq!((class, code, other), (0x4000, 0x4001, 0x4002));
        assert_eq!(codes.class(code), Some(class));
        assert_eq!(codes.class(other), Some(13));
        assert_eq!(codes.add_code(code), None);
        assert_eq!(codes.class(0x4003), None);
        assert_eq!(codes.text(code), "");
        codes.set_text(code, "mine".to_owned());
        assert_eq!((codes.text(code), codes.text(13)), ("mine", "invalid argument"));
        // A class with a code stays; the numbers at the end are given again.
        assert!(codes.remove_class(class).is_err() && codes.remove_class(13).is_err());
        assert!(codes.remove_code(class).is_err() && codes.remove_text(other).is_err());
        assert_eq!(codes.remove_text(code), Ok(()));
        assert_eq!(codes.text(code), "");
        assert_eq!(codes.remove_code(code), Ok(()));
        assert_eq!((codes.class(code), codes.class(other)), (None, Some(13)));
        assert_eq!(codes.remove_class(class), Ok(()));
        assert_eq!(codes.add_class(), 0x4003);
        assert_eq!((codes.remove_class(0x4003), codes.remove_code(other)), (Ok(()), Ok(())));
        assert_eq!(codes.add_class(), class);
    }
}
