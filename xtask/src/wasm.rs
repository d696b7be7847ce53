//! The browser half of the dashboard: compiled, given its bindings, shrunk.

use std::fs;
use std::path::Path;
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;

use crate::error::{Error, Result};
use crate::layout::{Layout, NAME};

/// What `wasm-opt` does. The features are those that the compiler uses and browsers have; `--all-features` would
/// make a module that Chromium refuses.
pub const OPTIMISATION: [&str; 7] = [
    "-Oz",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// Compiles the dashboard for the browser; quick when nothing changed.
pub fn compile(layout: &Layout) -> Result<()> {
    run(Command::new("cargo").current_dir(layout.root()).args([
        "build",
        "--package=spillway-app",
        "--lib",
        "--no-default-features",
        "--features=hydrate",
        "--target=wasm32-unknown-unknown",
        "--profile=wasm-release",
    ]))
}

/// Writes the optimised module and its JavaScript into [`Layout::bindings`].
///
/// The module keeps wasm-bindgen's name, `spillway_bg.wasm`: that is the one Leptos asks for unless it was itself
/// compiled with `LEPTOS_OUTPUT_NAME`, as cargo-leptos does.
pub fn bind(layout: &Layout) -> Result<()> {
    let folder = layout.bindings();
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Error::file(&folder))?;
    }
    write_bindings(&layout.compiled(), &folder).map_err(Error::Bindings)?;
    optimise(layout, &folder.join(format!("{NAME}_bg.wasm")))
}

fn write_bindings(compiled: &Path, folder: &Path) -> std::result::Result<(), String> {
    let mut bindgen = Bindgen::new();
    let bindgen = bindgen.web(true).map_err(|error| format!("{error:#}"))?;
    bindgen
        .input_path(compiled)
        .out_name(NAME)
        .typescript(false)
        .remove_name_section(true);
    bindgen
        .remove_producers_section(true)
        .generate(folder)
        .map_err(|error| format!("{error:#}"))
}

fn optimise(layout: &Layout, module: &Path) -> Result<()> {
    let programs = layout.node_programs();
    let optimiser = programs.join("wasm-opt");
    // It runs under the Node beside it, where there is one.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)));
    let mut command = Command::new(&optimiser);
    if let Ok(path) = path {
        command.env("PATH", path);
    }
    run(command.args(OPTIMISATION).arg(module).arg("-o").arg(module))
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::Failed { program }),
        Err(source) => Err(Error::Start { program, source }),
    }
}
