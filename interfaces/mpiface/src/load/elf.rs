//! The parts of a shared object that the loader reads and rewrites, in safe code.
//!
//! A file is untrusted: every offset, length and index in it is checked before it is used, and a
//! file that contradicts itself gives an error. Only the 64-bit little-endian form is read
//! (the machines on which this runs). The kernel's and the dynamic linker's view is followed: the
//! program headers and the dynamic section; section headers may be missing.

use object::elf::{
    DF_1_PIE, DF_STATIC_TLS, DF_TEXTREL, DT_FLAGS, DT_FLAGS_1, DT_GNU_HASH, DT_HASH, DT_NEEDED,
    DT_NULL, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB, DT_SYMENT, DT_SYMTAB,
    DT_TEXTREL, DT_VERNEED, DT_VERNEEDNUM, Dyn64, DynamicTag, ET_DYN, ET_EXEC, FileHeader64,
    GnuHashHeader, HashHeader, PF_R, PF_X, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, PT_NOTE, PT_TLS,
    ProgramFlags, ProgramHeader64, SHT_SYMTAB, STB_GLOBAL, STB_GNU_UNIQUE, STB_LOCAL, STT_OBJECT,
    SectionHeader64, Sym64, Verneed,
};
use object::pod::{Pod, slice_from_bytes, slice_from_bytes_mut};
use object::{LittleEndian, U32};
use std::fmt;
use std::ops::Range;

/// Why a file cannot be used: the fault, in words.
#[derive(Clone, PartialEq, Eq)]
pub struct ElfError(pub &'static str);

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

phalanx::error_type!(ElfError: Self(what));

pub(super) type Le = LittleEndian;
pub(super) const LE: Le = LittleEndian;
pub(super) type Symbol = Sym64<Le>;
const SYMBOL: u64 = size_of::<Symbol>() as u64;

/// A part of the file that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins in the file.
    pub offset: u64,
    /// Where it is mapped, from the place of the file's first byte.
    pub address: u64,
    /// Its bytes in the file.
    pub length: u64,
    pub(super) flags: ProgramFlags,
    /// Its bytes in memory: zeros follow those of the file.
    pub(super) in_memory: u64,
}

/// A shared object: its bytes, and where its dynamic section's tables lie in them.
#[derive(Debug)]
pub struct Elf {
    pub(super) bytes: Vec<u8>,
    pub(super) loads: Vec<Segment>,
    pub(super) notes: Vec<Segment>,
    pub(super) dynamic: Vec<(DynamicTag, u64)>,
    /// Where the dynamic section begins in the file.
    pub(super) dynamic_at: u64,
    pub(super) strings: Range<usize>,
    /// Bytes of thread-local variables, with the cost of their alignment.
    thread_locals: u64,
    /// The part that is constant once the dynamic linker has written it.
    pub(super) sealed: Range<u64>,
    /// Whether it can lie at one address only: an executable of the old kind.
    pub is_fixed: bool,
}

impl Elf {
    /// Reads a file's headers.
    ///
    /// # Errors
    /// If it is no 64-bit little-endian shared object with a dynamic section, or is damaged.
    pub fn parse(bytes: Vec<u8>) -> Result<Elf, ElfError> {
        if bytes.get(..4) != Some(b"\x7fELF") {
            return Err(ElfError("not an ELF file"));
        }
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(ElfError("not a 64-bit little-endian file"));
        }
        let mut elf = Elf {
            bytes,
            loads: Vec::new(),
            notes: Vec::new(),
            dynamic: Vec::new(),
            dynamic_at: 0,
            strings: 0..0,
            thread_locals: 0,
            sealed: 0..0,
            is_fixed: false,
        };
        match elf.header()?.e_type.get(LE) {
            ET_DYN => {}
            ET_EXEC => elf.is_fixed = true,
            _ => return Err(ElfError("not a shared object: link it with phalanx-mpicc")),
        }
        let mut dynamic = None;
        for (_, header) in elf.program_headers()? {
            let segment = Segment {
                offset: header.p_offset.get(LE),
                address: header.p_vaddr.get(LE),
                length: header.p_filesz.get(LE),
                flags: header.p_flags.get(LE),
                in_memory: header.p_memsz.get(LE),
            };
            match header.p_type.get(LE) {
                PT_LOAD => elf.loads.push(segment),
                PT_NOTE => elf.notes.push(segment),
                PT_DYNAMIC => dynamic = Some(segment),
                PT_TLS => elf.thread_locals = add(segment.in_memory, header.p_align.get(LE))?,
                PT_GNU_RELRO => {
                    elf.sealed = segment.address..add(segment.address, segment.in_memory)?;
                }
                _ => {}
            }
        }
        let dynamic = dynamic.ok_or(NO_DYNAMIC)?;
        elf.dynamic_at = dynamic.offset;
        let entries: &[Dyn64<Le>] = elf.table(dynamic.offset, dynamic.length / 16)?;
        let entries = entries.iter().map(|it| (it.d_tag.get(LE), it.d_val.get(LE)));
        elf.dynamic = entries.take_while(|it| it.0 != DT_NULL).collect();
        let start =
            elf.offset_of(elf.entry(DT_STRTAB).ok_or(ElfError("it has no string table"))?)?;
        let length = elf.entry(DT_STRSZ).ok_or(ElfError("its string table has no length"))?;
        let strings = usize_of(start)?..usize_of(add(start, length)?)?;
        if elf.bytes.get(strings.clone()).is_none() {
            return Err(ElfError("its string table lies outside the file"));
        }
        elf.strings = strings;
        Ok(elf)
    }

    /// The file's bytes, rewritten as asked so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it is an executable (PIE) rather than a shared object: those must be made one before
    /// they can be loaded twice.
    pub fn is_executable(&self) -> bool {
        self.entry(DT_FLAGS_1).is_some_and(|flags| flags & DF_1_PIE.0 != 0)
    }

    /// Bytes of its own thread-local variables, with their alignment.
    pub fn thread_locals(&self) -> usize {
        usize::try_from(self.thread_locals).unwrap_or(usize::MAX)
    }

    /// Bytes of its thread-local variables, if there must be room for them when a process begins:
    /// the program is compiled for the initial-exec model.
    pub fn static_tls(&self) -> usize {
        let flags = self.entry(DT_FLAGS).unwrap_or(0);
        let bytes = if flags & DF_STATIC_TLS.0 != 0 { self.thread_locals } else { 0 };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The names of the libraries that it needs.
    ///
    /// # Errors
    /// If a name lies outside the string table.
    pub fn needed(&self) -> Result<Vec<String>, ElfError> {
        self.named(DT_NEEDED)
    }

    /// The name under which others need it.
    ///
    /// # Errors
    /// If the name lies outside the string table.
    pub fn soname(&self) -> Result<Option<String>, ElfError> {
        Ok(self.named(DT_SONAME)?.pop())
    }

    /// The directories in which its libraries are looked for first, `$ORIGIN` as it stands.
    ///
    /// # Errors
    /// If a text lies outside the string table.
    pub fn search_path(&self) -> Result<Vec<String>, ElfError> {
        let mut texts = self.named(DT_RUNPATH)?;
        if texts.is_empty() {
            texts = self.named(DT_RPATH)?;
        }
        Ok(texts.iter().flat_map(|it| it.split(':')).map(str::to_owned).collect())
    }

    /// Gives the library `old`, wherever this file names it (its own name, those it needs, the
    /// versions it asks of them), the name `new` of the same length. Gives the places changed.
    ///
    /// # Errors
    /// If the lengths differ, the file is damaged, or the name is the tail of another text.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<usize, ElfError> {
        if old.len() != new.len() {
            return Err(ElfError("a library's new name must be as long as the old one"));
        }
        let mut places: Vec<u64> = self
            .dynamic
            .iter()
            .filter(|(tag, _)| matches!(*tag, DT_NEEDED | DT_SONAME))
            .map(|(_, value)| *value)
            .collect();
        places.extend(self.version_files()?);
        places.sort_unstable();
        places.dedup();
        let mut changed = 0;
        for place in places {
            if self.string(place)? != old.as_bytes() {
                continue;
            }
            let start = self.strings.start + usize_of(place)?;
            if place > 0 && self.bytes[start - 1] != 0 {
                return Err(ElfError("a library's name is the tail of another text"));
            }
            self.bytes[start..start + new.len()].copy_from_slice(new.as_bytes());
            changed += 1;
        }
        Ok(changed)
    }

    /// Makes symbols that are unique in the process (C++: statics of templates and of inline
    /// functions) ordinary ones, so that each copy has its own. Gives their number.
    ///
    /// # Errors
    /// If the symbol table lies outside the file.
    pub fn make_uniques_private(&mut self) -> Result<usize, ElfError> {
        let Some(table) = self.entry(DT_SYMTAB) else { return Ok(0) };
        if self.entry(DT_SYMENT).is_some_and(|length| length != SYMBOL) {
            return Err(ElfError("its symbols have an unknown length"));
        }
        let (at, count) = (self.offset_of(table)?, self.symbols()?);
        let symbols = self.table_mut::<Symbol>(at, count)?;
        let unique = symbols.iter_mut().filter(|it| it.st_bind() == STB_GNU_UNIQUE);
        Ok(unique.map(|it| it.st_info = STB_GLOBAL | it.st_type()).count())
    }

    /// Makes the data symbols that debuggers read local ones, so that each copy's variables are
    /// found in the copy: gdb takes the first global symbol of a name in any file. Gives their
    /// number; a stripped file has none.
    ///
    /// # Errors
    /// If the section headers or the table lie outside the file.
    pub fn make_data_local(&mut self) -> Result<usize, ElfError> {
        let header = *self.header()?;
        let (table, size) = (header.e_shoff.get(LE), header.e_shentsize.get(LE).into());
        let mut changed = 0;
        for index in 0..u64::from(header.e_shnum.get(LE)) {
            let section: SectionHeader64<Le> = *self.one(entry_at(table, index, size)?)?;
            if section.sh_type.get(LE) != SHT_SYMTAB {
                continue;
            }
            let count = self.checked_symbols(section.sh_size.get(LE) / SYMBOL)?;
            for symbol in self.table_mut::<Symbol>(section.sh_offset.get(LE), count)? {
                let is_seen = matches!(symbol.st_bind(), STB_GLOBAL | STB_GNU_UNIQUE);
                if is_seen && symbol.st_type() == STT_OBJECT {
                    symbol.st_info = STB_LOCAL | STT_OBJECT;
                    changed += 1;
                }
            }
        }
        Ok(changed)
    }

    /// Pages that hold code, and nothing that is rewritten here or that the dynamic linker writes.
    ///
    /// # Errors
    /// If a table lies outside the file.
    pub fn code(&self, page: u64) -> Result<Vec<Segment>, ElfError> {
        let flags = self.entry(DT_FLAGS).unwrap_or(0);
        if self.entry(DT_TEXTREL).is_some() || flags & DF_TEXTREL.0 != 0 {
            return Ok(Vec::new());
        }
        let mut tables = vec![(self.strings.start as u64, self.strings.end as u64)];
        if let Some(table) = self.entry(DT_SYMTAB) {
            let start = self.offset_of(table)?;
            tables.push((start, add(start, self.symbols()? * SYMBOL)?));
        }
        let mut parts = Vec::new();
        for load in
            self.loads.iter().filter(|it| it.flags == (PF_R | PF_X) && it.in_memory <= it.length)
        {
            let end = add(load.offset, load.length)?;
            if load.offset % page != load.address % page {
                continue;
            }
            // Where a linker puts tables and code into one segment, tables come first. Otherwise
            // nobody reads the bytes before the segment in its first page, or behind it.
            let inside = tables.iter().filter(|it| it.0 < end && it.1 > load.offset);
            let start = match inside.map(|it| it.1).max() {
                Some(after) => add(after, page - 1)? / page * page,
                None => load.offset / page * page,
            };
            let end = add(end, page - 1)? / page * page;
            if start < end {
                let address = add(load.address, start)?.checked_sub(load.offset).ok_or(CUT)?;
                parts.push(Segment { offset: start, address, length: end - start, ..*load });
            }
        }
        Ok(parts)
    }

    /// The number of dynamic symbols, by the hash table.
    pub(super) fn symbols(&self) -> Result<u64, ElfError> {
        if let Some(table) = self.entry(DT_HASH) {
            let header: &HashHeader<Le> = self.one(self.offset_of(table)?)?;
            return self.checked_symbols(header.chain_count.get(LE).into());
        }
        let Some(table) = self.entry(DT_GNU_HASH) else { return Ok(0) };
        let at = self.offset_of(table)?;
        let header: &GnuHashHeader<Le> = self.one(at)?;
        let first = u64::from(header.symbol_base.get(LE));
        let count = u64::from(header.bucket_count.get(LE));
        let bucket = entry_at(add(at, 16)?, header.bloom_count.get(LE).into(), 8)?;
        let buckets = self.table::<U32<Le>>(bucket, count)?;
        let mut last = buckets.iter().map(|it| u64::from(it.get(LE))).max().unwrap_or(0);
        if last < first {
            return self.checked_symbols(first);
        }
        let chain = entry_at(bucket, count, 4)?;
        while self.one::<U32<Le>>(entry_at(chain, last - first, 4)?)?.get(LE) & 1 == 0 {
            last += 1;
        }
        self.checked_symbols(last + 1)
    }

    /// A number of symbols, if the file could hold as many.
    fn checked_symbols(&self, count: u64) -> Result<u64, ElfError> {
        let room = self.bytes.len() as u64 / SYMBOL;
        if count > room { Err(ElfError("it has more symbols than room")) } else { Ok(count) }
    }

    /// Where the names of files stand from which versions are needed.
    fn version_files(&self) -> Result<Vec<u64>, ElfError> {
        let (Some(table), Some(count)) = (self.entry(DT_VERNEED), self.entry(DT_VERNEEDNUM)) else {
            return Ok(Vec::new());
        };
        let mut at = self.offset_of(table)?;
        let mut files = Vec::new();
        for _ in 0..count {
            let need: &Verneed<Le> = self.one(at)?;
            files.push(need.vn_file.get(LE).into());
            match need.vn_next.get(LE) {
                0 => break,
                next => at = add(at, next.into())?,
            }
        }
        Ok(files)
    }

    /// The value of the first entry with this tag.
    pub(super) fn entry(&self, tag: DynamicTag) -> Option<u64> {
        self.dynamic.iter().find(|it| it.0 == tag).map(|it| it.1)
    }

    fn named(&self, tag: DynamicTag) -> Result<Vec<String>, ElfError> {
        let entries = self.dynamic.iter().filter(|it| it.0 == tag);
        entries
            .map(|it| self.string(it.1).map(|s| String::from_utf8_lossy(s).into_owned()))
            .collect()
    }

    /// The text at this place of the string table.
    pub(super) fn string(&self, place: u64) -> Result<&[u8], ElfError> {
        let strings = &self.bytes[self.strings.clone()];
        let rest = strings.get(usize_of(place)?..).ok_or(CUT)?;
        let length = rest.iter().position(|byte| *byte == 0).ok_or(CUT)?;
        Ok(&rest[..length])
    }

    /// Where in the file an address lies.
    pub(super) fn offset_of(&self, address: u64) -> Result<u64, ElfError> {
        let inside = |it: &&Segment| address >= it.address && address - it.address < it.length;
        let load = self.loads.iter().find(inside).ok_or(ElfError("an address is in no segment"))?;
        add(load.offset, address - load.address)
    }

    /// Where in the file a symbol of this number stands.
    pub(super) fn symbol(&self, index: u64) -> Result<u64, ElfError> {
        let table = self.entry(DT_SYMTAB).ok_or(CUT)?;
        self.offset_of(entry_at(table, index, SYMBOL)?)
    }

    /// The symbols behind the first one, which is none, and their names.
    pub(super) fn named_symbols(&self) -> Result<Vec<(&Symbol, &[u8])>, ElfError> {
        let all = (1..self.symbols()?).map(|it| self.one::<Symbol>(self.symbol(it)?));
        let named = |it: &Symbol| self.string(it.st_name.get(LE).into());
        all.map(|it| it.and_then(|it| Ok((it, named(it)?)))).collect()
    }

    fn header(&self) -> Result<&FileHeader64<Le>, ElfError> {
        self.one(0)
    }

    /// The program headers, and where they stand.
    pub(super) fn program_headers(&self) -> Result<Vec<(u64, ProgramHeader64<Le>)>, ElfError> {
        let header = self.header()?;
        let (table, size) = (header.e_phoff.get(LE), header.e_phentsize.get(LE));
        if usize::from(size) < size_of::<ProgramHeader64<Le>>() {
            return Err(ElfError("its program headers are too short"));
        }
        let place = |it| entry_at(table, it, size.into());
        let all = (0..header.e_phnum.get(LE).into()).map(place);
        all.map(|at| at.and_then(|at| Ok((at, *self.one(at)?)))).collect()
    }

    /// So many entries of a table that begins there in the file.
    pub(super) fn table<T: Pod>(&self, at: u64, count: u64) -> Result<&[T], ElfError> {
        let rest = self.bytes.get(usize_of(at)?..).ok_or(CUT)?;
        slice_from_bytes(rest, usize_of(count)?).map(|it| it.0).map_err(|()| CUT)
    }

    pub(super) fn table_mut<T: Pod>(&mut self, at: u64, count: u64) -> Result<&mut [T], ElfError> {
        let rest = self.bytes.get_mut(usize_of(at)?..).ok_or(CUT)?;
        slice_from_bytes_mut(rest, usize_of(count)?).map(|it| it.0).map_err(|()| CUT)
    }

    pub(super) fn one<T: Pod>(&self, at: u64) -> Result<&T, ElfError> {
        Ok(&self.table(at, 1)?[0])
    }

    pub(super) fn one_mut<T: Pod>(&mut self, at: u64) -> Result<&mut T, ElfError> {
        Ok(&mut self.table_mut(at, 1)?[0])
    }
}

/// A program that is linked statically, for example.
pub const NO_DYNAMIC: ElfError = ElfError("it has no dynamic section");

/// A table or text that the file ends within.
pub(super) const CUT: ElfError = ElfError("a table lies outside the file");

pub(super) fn add(a: u64, b: u64) -> Result<u64, ElfError> {
    a.checked_add(b).ok_or(CUT)
}

/// Where an entry of a table begins.
pub(super) fn entry_at(table: u64, index: u64, size: u64) -> Result<u64, ElfError> {
    add(table, index.checked_mul(size).ok_or(CUT)?)
}

pub(super) fn usize_of(value: u64) -> Result<usize, ElfError> {
    usize::try_from(value).map_err(|_| CUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Real files: the shim of this build, the C library, libstdc++ and libgfortran if they are
    /// here.
    fn files() -> Vec<Vec<u8>> {
        let shim = concat!(env!("OUT_DIR"), "/libmpi_abi.so.0");
        let found = ["libc.so.6", "libstdc++.so.6", "libgfortran.so.5"];
        let directories = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"];
        let mut files = vec![std::fs::read(shim).expect("build.rs made it")];
        for name in found {
            let mut paths = directories.iter().map(|it| format!("{it}/{name}"));
            files.extend(paths.find_map(|it| std::fs::read(it).ok()));
        }
        files
    }

    fn use_all(bytes: Vec<u8>) -> Result<usize, ElfError> {
        let mut elf = Elf::parse(bytes)?;
        let mut names = elf.needed()?;
        names.extend(elf.soname()?);
        elf.search_path()?;
        let _ = elf.is_executable();
        elf.make_shared()?;
        elf.start()?;
        elf.variables(&["main".to_owned()])?;
        elf.named_thread_locals(true)?;
        elf.code(4096)?;
        let mut changed = elf.make_uniques_private()? + elf.make_data_local()?;
        for name in names {
            let other = "x".repeat(name.len());
            changed += elf.rename(&name, &other)?;
        }
        elf.need(&["libother.so".to_owned()], &[("libc.so.6".to_owned(), "another".to_owned())])?;
        Ok(changed)
    }

    #[test]
    fn real_files_are_read() {
        for file in files() {
            let elf = Elf::parse(file.clone()).expect("a real file");
            assert!(elf.soname().expect("a real file").is_some());
            assert!(use_all(file).expect("a real file") > 0);
        }
    }

    #[test]
    fn renaming_changes_the_name_and_nothing_else() {
        let bytes = files().swap_remove(0);
        let mut elf = Elf::parse(bytes.clone()).expect("the shim");
        assert_eq!(elf.soname(), Ok(Some("libmpi_abi.so.0".into())));
        assert_eq!(elf.rename("libmpi_abi.so.0", "0A_mpi_abi.so.0"), Ok(1));
        assert_eq!(elf.soname(), Ok(Some("0A_mpi_abi.so.0".into())));
        let differ = bytes.iter().zip(elf.bytes()).filter(|(a, b)| a != b).count();
        assert_eq!(differ, 3);
        assert!(elf.rename("libc.so.6", "c").is_err());
    }

    #[test]
    fn what_is_rewritten_is_no_code() {
        for file in files() {
            let mut elf = Elf::parse(file.clone()).expect("a real file");
            let parts = elf.code(4096).expect("a real file");
            assert!(!parts.is_empty());
            let name = elf.soname().expect("a real file").expect("it has one");
            elf.make_uniques_private().expect("a real file");
            elf.make_data_local().expect("a real file");
            elf.rename(&name, &"x".repeat(name.len())).expect("a real file");
            for Segment { offset, length, .. } in parts {
                let end = file.len().min((offset + length) as usize);
                assert!(elf.bytes()[offset as usize..end] == file[offset as usize..end]);
            }
        }
    }

    /// Mutated real files: each is read or refused, none panics or hangs.
    #[test]
    fn damaged_files_are_refused_without_a_panic() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below.max(1) as u64) as usize
        };
        let (mut read, mut refused) = (0, 0);
        for file in files().into_iter().take(2) {
            // Most reads are of the header, the program headers and the dynamic section.
            let dynamic =
                file.windows(8).position(|it| it == DT_STRTAB.0.to_le_bytes()).unwrap_or(0);
            for round in 0..600 {
                let mut bytes = file.clone();
                for _ in 0..1 + random(6) {
                    let at = match random(4) {
                        0 => random(64),
                        1 => 64 + random(56 * 12),
                        2 => (dynamic + random(600)).saturating_sub(200),
                        _ => random(bytes.len()),
                    };
                    let at = at.min(bytes.len() - 1);
                    bytes[at] = [0, 255, random(256) as u8, bytes[at] ^ 1 << random(8)][random(4)];
                }
                if round % 5 == 0 {
                    bytes.truncate(random(bytes.len()));
                }
                match use_all(bytes) {
                    Ok(_) => read += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(
            read > 50 && refused > 50,
            "{read} read, {refused} refused: one of them is not tried"
        );
    }
}
