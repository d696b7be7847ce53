//! The site build, step by step.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::layout::{Layout, NAME};
use crate::{fingerprint, style, wasm};

/// What a visitor is asked to load before the page comes to life, at most, in brotli: 250 kB is 1.3 s on a
/// 1.6 Mbit/s line, the slow mobile line that page-speed tools assume. A minimal hydrated Leptos page takes 93 kB.
const WASM_BROTLI_BYTES_MAX: u64 = 250_000;

/// Builds the site, or as much of it as is out of date.
///
/// # Errors
/// When a step fails, or when the module is over its budget.
pub fn build() -> Result<()> {
    let layout = Layout::here()?;
    let _lock = lock(&layout.lock())?;
    let mut site = Folder::open(layout.site());
    say("compiling the browser half");
    wasm::compile(&layout)?;
    put_module(&layout, &mut site)?;
    site.put(
        &package_file("css"),
        style::bundle(&layout.main_sheet())?.as_bytes(),
    )?;
    site.put_all("", &layout.public())?;
    site.prune()?;
    report(&site)
}

/// Waits until no other build is at work; the lock goes with the file.
fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).map_err(Error::file(path))?;
    file.lock().map_err(Error::file(path))?;
    Ok(file)
}

/// Binds and optimises the compiled module, unless that was done for this very one.
fn put_module(layout: &Layout, site: &mut Folder) -> Result<()> {
    let compiled = layout.compiled();
    let module = fs::read(&compiled).map_err(Error::file(&compiled))?;
    let inputs = fingerprint::of(&[&module, wasm::OPTIMISATION.concat().as_bytes()]);
    let stamp = layout.stamp();
    let done =
        layout.bindings().exists() && fs::read_to_string(&stamp).is_ok_and(|old| old == inputs);
    if !done {
        say("writing bindings and optimising the module");
        wasm::bind(layout)?;
        fs::write(&stamp, inputs).map_err(Error::file(&stamp))?;
    }
    site.put_all("pkg", &layout.bindings())
}

fn package_file(extension: &str) -> PathBuf {
    Path::new("pkg").join(NAME).with_extension(extension)
}

/// Says what a visitor loads, and holds the module to its budget.
fn report(site: &Folder) -> Result<()> {
    for name in ["spillway_bg.wasm", "spillway.js", "spillway.css"] {
        let plain = site.size_bytes(&format!("pkg/{name}"))?;
        let brotli = site.size_bytes(&format!("pkg/{name}.br"))?;
        say(&format!(
            "{name:17} {:>7.1} kB, {:>6.1} kB in brotli",
            kilobytes(plain),
            kilobytes(brotli)
        ));
    }
    within_budget(site.size_bytes("pkg/spillway_bg.wasm.br")?)
}

fn within_budget(actual: u64) -> Result<()> {
    let budget = WASM_BROTLI_BYTES_MAX;
    if actual <= budget {
        Ok(())
    } else {
        Err(Error::Budget { actual, budget })
    }
}

fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1000.0
}

fn say(message: &str) {
    println!("site: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_over_the_budget_fails() {
        assert!(within_budget(WASM_BROTLI_BYTES_MAX).is_ok());
        assert!(matches!(
            within_budget(WASM_BROTLI_BYTES_MAX + 1),
            Err(Error::Budget { .. })
        ));
    }
}
