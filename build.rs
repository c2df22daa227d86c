//! Is libhwloc there? If it is, `cfg(phalanx_hwloc)` turns the hwloc back end on. If not, the build
//! goes on without it and says so once: the machine is then read from sysfs.
//!
//! It is this cfg, not the feature, that decides whether `hwloc2` is named anywhere: a crate that
//! is never named is never loaded by the compiler, so its `#[link(name = "hwloc")]` asks for
//! nothing.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(phalanx_hwloc)");
    println!("cargo::rerun-if-changed=build.rs");
    // `hwloc2` is a dependency on Linux only: Cargo.toml.
    #[cfg(feature = "hwloc")]
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        probe();
    }
}

/// Where distributions put `hwloc.pc`: installing or removing it there is a reason to look again.
#[cfg(feature = "hwloc")]
fn watch() {
    let target = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let multiarch = format!("/usr/lib/{target}-linux-gnu/pkgconfig");
    let usual = ["/usr/lib/pkgconfig", "/usr/lib64/pkgconfig", "/usr/local/lib/pkgconfig"];
    for dir in usual.into_iter().chain([multiarch.as_str()]) {
        // Only what exists: Cargo takes a missing path as one that changed.
        if std::path::Path::new(dir).is_dir() {
            println!("cargo::rerun-if-changed={dir}");
        }
    }
}

#[cfg(feature = "hwloc")]
fn probe() {
    watch();
    // The same probe that the build of `hwloc2` makes, which leaves the linking to it; and not
    // hwloc 3, whose data layout and object types are others than the ones that it knows.
    let probe = pkg_config::Config::new()
        .range_version("2.0.0".."3.0.0")
        .cargo_metadata(false)
        .env_metadata(true)
        .probe("hwloc");
    match probe {
        Ok(library) => {
            println!("cargo::rustc-cfg=phalanx_hwloc");
            println!("cargo::rustc-env=PHALANX_HWLOC_VERSION={}", library.version);
        }
        Err(error) => {
            let reason = match error {
                pkg_config::Error::Command { .. } => "the program pkg-config is missing",
                pkg_config::Error::CrossCompilation => "pkg-config is off for cross builds",
                _ => "pkg-config knows no hwloc of version 2",
            };
            println!(
                "cargo::warning=building without libhwloc ({reason}): the machine will be read \
                 from sysfs. Debian and Ubuntu have it in the packages libhwloc-dev and pkg-config; \
                 --no-default-features silences this"
            );
        }
    }
}
