//! `elements` of `it` with all alignments, which take the compiler minutes: `--test alignments`.

macro_rules! with_alignments {
    ($do:ident) => {
        $do! {
            1 E1 F1; 2 E2 F2; 4 E4 F4; 8 E8 F8; 16 E16 F16; 32 E32 F32; 64 E64 F64; 128 E128 F128;
            256 E256 F256; 512 E512 F512; 1024 E1024 F1024; 2048 E2048 F2048; 4096 E4096 F4096;
            8192 E8192 F8192; 16384 E16384 F16384; 32768 E32768 F32768; 65536 E65536 F65536;
        }
    };
}

#[path = "../common/mod.rs"]
mod common;
#[path = "../it/elements.rs"]
mod elements;
