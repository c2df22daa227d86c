//! Files that a plain compiler links, made fit for copies: an executable becomes a shared object,
//! and a file needs libraries beside those it was linked with.

use super::elf::{CUT, Elf, ElfError, LE, Le, Segment, Symbol, add, usize_of};
use object::elf::{
    DF_1_PIE, DT_FLAGS_1, DT_NEEDED, DT_NULL, DT_RELA, DT_RELAENT, DT_RELASZ, DT_STRSZ, DT_STRTAB,
    Dyn64, NoteHeader64, PF_R, PF_W, PT_DYNAMIC, PT_LOAD, PT_NOTE, ProgramHeader64, ProgramType,
    R_AARCH64_COPY, R_X86_64_COPY, Rela64, SHN_UNDEF, STT_TLS,
};
use object::pod::bytes_of;
use object::{I64, U32, U64};

/// The relocation by which an executable has a library's variable for itself.
const R_COPY: u64 =
    (if cfg!(target_arch = "aarch64") { R_AARCH64_COPY } else { R_X86_64_COPY }).0 as u64;

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
        self.dynamic[flags].1 &= !DF_1_PIE.0;
        let (at, kept) = (add(self.dynamic_at, flags as u64 * 16)?, self.dynamic[flags].1);
        self.one_mut::<Dyn64<Le>>(at)?.d_val.set(LE, kept);
        let mut names = Vec::new();
        for symbol in self.copied()? {
            let at = self.symbol(symbol)?;
            let symbol: &Symbol = self.one(at)?;
            let name = self.string(symbol.st_name.get(LE).into())?;
            names.push(String::from_utf8_lossy(name).into_owned());
            // Undefined here: without a section, and without a value.
            let symbol: &mut Symbol = self.one_mut(at)?;
            symbol.st_shndx.set(LE, SHN_UNDEF);
            symbol.st_value.set(LE, 0);
        }
        Ok(names)
    }

    /// The symbols with relocations of the kind COPY: variables of libraries of which a linker has
    /// put a copy into the executable.
    fn copied(&self) -> Result<Vec<u64>, ElfError> {
        let (Some(table), Some(length)) = (self.entry(DT_RELA), self.entry(DT_RELASZ)) else {
            return Ok(Vec::new());
        };
        let each = size_of::<Rela64<Le>>() as u64;
        if self.entry(DT_RELAENT).is_some_and(|it| it != each) {
            return Err(ElfError("its relocations have an unknown length"));
        }
        let all: &[Rela64<Le>] = self.table(self.offset_of(table)?, length / each)?;
        let all = all.iter().map(|it| it.r_info.get(LE));
        Ok(all.filter(|it| it & 0xffff_ffff == R_COPY).map(|it| it >> 32).collect())
    }

    /// Which of these names are variables of its own, that may change.
    ///
    /// # Errors
    /// If a table lies outside the file.
    pub fn variables(&self, names: &[String]) -> Result<Vec<String>, ElfError> {
        let may_change = |symbol: &Symbol| {
            let address = symbol.st_value.get(LE);
            let inside = |it: &Segment| {
                address.wrapping_sub(it.address) < it.in_memory && (it.flags & PF_W).0 != 0
            };
            symbol.st_shndx.get(LE) != SHN_UNDEF
                && self.loads.iter().any(inside)
                && !self.sealed.contains(&address)
        };
        let is_one = |name: &[u8]| names.iter().any(|it| it.as_bytes() == name);
        let all = self.named_symbols()?.into_iter().filter(|it| may_change(it.0) && is_one(it.1));
        Ok(all.map(|it| String::from_utf8_lossy(it.1).into_owned()).collect())
    }

    /// The thread-local variables that it defines, or that it needs.
    ///
    /// # Errors
    /// If a table lies outside the file.
    pub fn named_thread_locals(&self, is_defined: bool) -> Result<Vec<String>, ElfError> {
        let is_one = |it: &Symbol| {
            it.st_type() == STT_TLS && (it.st_shndx.get(LE) != SHN_UNDEF) == is_defined
        };
        let all = self.named_symbols()?.into_iter().filter(|it| is_one(it.0));
        Ok(all.map(|it| String::from_utf8_lossy(it.1).into_owned()).collect())
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
        let headers = self.program_headers()?;
        let of =
            |kind: ProgramType| move |it: &(u64, ProgramHeader64<Le>)| it.1.p_type.get(LE) == kind;
        let place = headers.iter().rposition(of(PT_NOTE)).ok_or(ElfError("it has no note"))?;
        let last_load = headers.iter().rposition(of(PT_LOAD)).unwrap_or(0);
        let dynamic = headers.iter().rfind(|it| of(PT_DYNAMIC)(it)).ok_or(CUT)?.0;
        let top =
            self.loads.iter().try_fold(0, |top, it| Ok(add(it.address, it.in_memory)?.max(top)))?;
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
        for (tag, value) in entries.into_iter().chain([(DT_NULL, 0)]) {
            let entry = Dyn64::<Le> { d_tag: I64::new(LE, tag), d_val: U64::new(LE, value) };
            part.extend_from_slice(bytes_of(&entry));
        }
        let (end, section) = (part.len() as u64, part.len() as u64 - start);
        let header = |kind: ProgramType, from: u64, length: u64, unit: u64| {
            let [at, in_memory] =
                [add(offset, from)?, add(address, from)?].map(|it| U64::new(LE, it));
            let length = U64::new(LE, length);
            Ok(ProgramHeader64::<Le> {
                p_type: U32::new(LE, kind),
                p_flags: U32::new(LE, PF_R | PF_W),
                p_offset: at,
                p_vaddr: in_memory,
                p_paddr: in_memory,
                p_filesz: length,
                p_memsz: length,
                p_align: U64::new(LE, unit),
            })
        };
        let note = headers[place].0;
        *self.one_mut(note)? = header(PT_LOAD, 0, end, PAGE)?;
        *self.one_mut(dynamic)? = header(PT_DYNAMIC, start, section, 16)?;
        if place < last_load {
            // Parts that are mapped stand in the order of their addresses.
            let size = usize_of(headers[1].0 - headers[0].0)?;
            let (from, to) = (usize_of(note)?, usize_of(headers[last_load].0)? + size);
            self.bytes.get_mut(from..to).ok_or(CUT)?.rotate_left(size);
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
                let header: &NoteHeader64<Le> = self.one(at)?;
                let up = |it: u32| u64::from(it).div_ceil(4) * 4;
                let (name, length) = (up(header.n_namesz.get(LE)), up(header.n_descsz.get(LE)));
                let value = add(add(at, 12)?, name)?;
                if name == 8 && length == 8 && self.table::<u8>(add(at, 12)?, 8)? == b"phalanx\0" {
                    let place = add(note.address, value - note.offset)?;
                    add(place, 4)?;
                    let far = |it: U32<Le>| i64::from(it.get(LE).cast_signed());
                    let [main, end] = *self.one::<[U32<Le>; 2]>(value)?;
                    let start = place.wrapping_add_signed(far(main));
                    return Ok(Some((start, (place + 4).wrapping_add_signed(far(end)))));
                }
                at = add(value, length)?;
            }
        }
        Ok(None)
    }
}
