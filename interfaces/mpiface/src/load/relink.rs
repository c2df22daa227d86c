//! Files that a plain compiler links, made fit for copies: an executable becomes a shared object,
//! and a file needs libraries beside those it was linked with.

use super::elf::{
    CUT, DF_1_PIE, DT_FLAGS_1, DT_NEEDED, DT_NULL, DT_RELA, DT_RELAENT, DT_RELASZ, DT_STRSZ,
    DT_STRTAB, Elf, ElfError, PF_R, PF_W, PT_DYNAMIC, PT_LOAD, PT_NOTE, R_COPY, RELOCATION,
    STT_TLS, Segment, add, usize_of,
};

impl Elf {
    /// Makes a position-independent executable a shared object, which the dynamic linker loads as
    /// often as one likes. Gives the variables of libraries that it has for itself
    /// (`Elf::copied`): the linker looks for their first values in the libraries from now on, and
    /// not in the executable, which stands before them here.
    ///
    /// # Errors
    /// If a table lies outside the file.
    pub fn make_shared(&mut self) -> Result<Vec<String>, ElfError> {
        let Some(flags) = self.dynamic.iter().position(|it| it.0 == DT_FLAGS_1) else {
            return Ok(Vec::new());
        };
        self.dynamic[flags].1 &= !DF_1_PIE;
        let at = add(self.dynamic_at, flags as u64 * 16 + 8)?;
        self.write(at, &self.dynamic[flags].1.to_le_bytes())?;
        let mut names = Vec::new();
        for symbol in self.copied()? {
            names.push(String::from_utf8_lossy(self.symbol_name(symbol)?).into_owned());
            // Undefined here: without a section, and without a value.
            let at = self.symbol(symbol)?;
            self.write(add(at, 6)?, &[0; 10])?;
        }
        Ok(names)
    }

    /// The symbols with relocations of the kind COPY: variables of libraries of which a linker has
    /// put a copy into the executable.
    fn copied(&self) -> Result<Vec<u64>, ElfError> {
        let (Some(table), Some(length)) = (self.entry(DT_RELA), self.entry(DT_RELASZ)) else {
            return Ok(Vec::new());
        };
        if self.entry(DT_RELAENT).is_some_and(|it| it != RELOCATION) {
            return Err(ElfError("its relocations have an unknown length"));
        }
        let start = self.offset_of(table)?;
        let mut symbols = Vec::new();
        for index in 0..length.min(self.bytes.len() as u64) / RELOCATION {
            let info = self.u64(add(start, index * RELOCATION + 8)?)?;
            if info & 0xffff_ffff == R_COPY {
                symbols.push(info >> 32);
            }
        }
        Ok(symbols)
    }

    /// Which of these names are variables of its own, that may change.
    ///
    /// # Errors
    /// If a table lies outside the file.
    pub fn variables(&self, names: &[String]) -> Result<Vec<String>, ElfError> {
        let mut found = Vec::new();
        for index in 1..self.symbols()? {
            let at = self.symbol(index)?;
            let (name, address) = (self.symbol_name(index)?, self.u64(add(at, 8)?)?);
            let inside = |it: &&Segment| {
                address.wrapping_sub(it.address) < it.in_memory && it.flags & PF_W != 0
            };
            let may_change =
                self.loads.iter().any(|it| inside(&it)) && !self.sealed.contains(&address);
            let is_defined = self.u16(add(at, 6)?)? != 0;
            if is_defined && may_change && names.iter().any(|it| it.as_bytes() == name) {
                found.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        Ok(found)
    }

    /// The thread-local variables that it defines, or that it needs.
    ///
    /// # Errors
    /// If a table lies outside the file.
    pub fn named_thread_locals(&self, is_defined: bool) -> Result<Vec<String>, ElfError> {
        let mut found = Vec::new();
        for index in 1..self.symbols()? {
            let at = self.symbol(index)?;
            let kind = self.read::<1>(add(at, 4)?)?[0] & 15;
            if kind == STT_TLS && (self.u16(add(at, 6)?)? != 0) == is_defined {
                found.push(String::from_utf8_lossy(self.symbol_name(index)?).into_owned());
            }
        }
        Ok(found)
    }

    /// Has it need other libraries: `first` before all others, if there is one, and instead of
    /// those of a name, in `instead`, the second of the pair. Each is a soname or a path. Dynamic
    /// section and texts move to a part of their own at the end, for which a note's header is
    /// taken.
    ///
    /// # Errors
    /// If the file is damaged, or has no note.
    pub fn need(&mut self, first: &[String], instead: &[(String, String)]) -> Result<(), ElfError> {
        const PAGE: u64 = 1 << 16;
        let (table, size, count) = (self.u64(32)?, u64::from(self.u16(54)?), self.u16(56)?);
        let (mut note, mut dynamic, mut top) = (None, None, 0);
        let mut last_load = 0;
        for index in 0..u64::from(count) {
            let at = add(table, index * size)?;
            match self.u32(at)? {
                PT_NOTE => note = Some((index, at)),
                PT_DYNAMIC => dynamic = Some(at),
                PT_LOAD => {
                    last_load = index;
                    top = add(self.u64(add(at, 16)?)?, self.u64(add(at, 40)?)?)?.max(top);
                }
                _ => {}
            }
        }
        let (place, note) = note.ok_or(ElfError("it has no note"))?;
        let dynamic = dynamic.ok_or(CUT)?;
        let up = |at: u64, unit: u64| add(at, unit - 1).map(|it| it / unit * unit);
        let (offset, address) = (up(self.bytes.len() as u64, PAGE)?, up(top, PAGE)?);
        let mut texts = self.bytes[self.strings.clone()].to_vec();
        let mut entries = Vec::new();
        let mut append = |text: &str| {
            let place = texts.len() as u64;
            texts.extend_from_slice(text.as_bytes());
            texts.push(0);
            (DT_NEEDED, place)
        };
        entries.extend(first.iter().map(|it| append(it)));
        for entry in &self.dynamic {
            let other = match entry.0 {
                DT_NEEDED => {
                    let name = self.string(entry.1)?;
                    instead.iter().find(|it| it.0.as_bytes() == name)
                }
                _ => None,
            };
            entries.push(other.map_or(*entry, |it| append(&it.1)));
        }
        let length = texts.len() as u64;
        for entry in &mut entries {
            match entry.0 {
                DT_STRTAB => entry.1 = address,
                DT_STRSZ => entry.1 = length,
                _ => {}
            }
        }
        let start = up(length, 16)?;
        let mut part = texts;
        part.resize(usize_of(start)?, 0);
        for (tag, value) in entries.iter().chain(&[(DT_NULL, 0)]) {
            part.extend_from_slice(&tag.to_le_bytes());
            part.extend_from_slice(&value.to_le_bytes());
        }
        let (end, section) = (part.len() as u64, part.len() as u64 - start);
        let header = |kind: u32, from: u64, length: u64, unit: u64| -> Result<Vec<u8>, ElfError> {
            let mut header = [kind.to_le_bytes(), (PF_R | PF_W).to_le_bytes()].concat();
            let (at, in_memory) = (add(offset, from)?, add(address, from)?);
            for value in [at, in_memory, in_memory, length, length, unit] {
                header.extend_from_slice(&value.to_le_bytes());
            }
            Ok(header)
        };
        self.write(note, &header(PT_LOAD, 0, end, PAGE)?)?;
        self.write(dynamic, &header(PT_DYNAMIC, start, section, 16)?)?;
        if place < last_load {
            // Parts that are mapped stand in the order of their addresses.
            let from = usize_of(note)?;
            let to = usize_of(add(table, (last_load + 1) * size)?)?;
            self.bytes.get_mut(from..to).ok_or(CUT)?.rotate_left(usize_of(size)?);
        }
        self.bytes.resize(usize_of(offset)?, 0);
        self.bytes.extend_from_slice(&part);
        *self = Elf::parse(std::mem::take(&mut self.bytes))?;
        Ok(())
    }

    /// Where an executable has its beginning and its end for a rank, from the place of its first
    /// byte: c/start.c says it in a note.
    ///
    /// # Errors
    /// If a note lies outside the file.
    pub fn start(&self) -> Result<Option<(u64, u64)>, ElfError> {
        for note in &self.notes {
            let (mut at, end) = (note.offset, add(note.offset, note.length)?);
            while add(at, 12)? <= end {
                let up = |it: u32| u64::from(it).div_ceil(4) * 4;
                let (name, length) = (up(self.u32(at)?), up(self.u32(add(at, 4)?)?));
                let value = add(add(at, 12)?, name)?;
                if name == 8 && length == 8 && self.read::<8>(add(at, 12)?)? == *b"phalanx\0" {
                    let place = add(note.address, value - note.offset)?;
                    add(place, 4)?;
                    let far = |at: u64| self.u32(at).map(|it| i64::from(it.cast_signed()));
                    let main = place.wrapping_add_signed(far(value)?);
                    let end = (place + 4).wrapping_add_signed(far(value + 4)?);
                    return Ok(Some((main, end)));
                }
                at = add(value, length)?;
            }
        }
        Ok(None)
    }
}
