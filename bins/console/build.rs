//! Compresses the pages and lists them for `src/assets.rs`.

use std::{
    collections::hash_map::DefaultHasher,
    env, fs,
    hash::{Hash as _, Hasher as _},
    io::Write as _,
    path::Path,
};

use flate2::{Compression, write::GzEncoder};

fn main() {
    println!("cargo::rerun-if-changed=web");
    let out = env::var("OUT_DIR").expect("cargo says where");
    let web = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says where")).join("web");
    let mut names: Vec<_> = fs::read_dir(&web)
        .expect("the pages are there")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    let mut list = String::from("[\n");
    for name in names {
        let media = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => panic!("web/{name}: no media type is known for it"),
        };
        let path = web.join(&name);
        let bytes = fs::read(&path).expect("readable");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes).expect("memory takes all");
        let zipped = Path::new(&out).join(format!("{name}.gz"));
        fs::write(&zipped, encoder.finish().expect("memory takes all")).expect("writable");
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        list += &format!(
            "    Asset {{ path: \"/{name}\", media: {media:?}, plain: include_bytes!({:?}), gzip: include_bytes!({:?}), tag: \"{:016x}\" }},\n",
            path.display().to_string(),
            zipped.display().to_string(),
            hasher.finish(),
        );
    }
    list += "]";
    fs::write(Path::new(&out).join("assets.rs"), list).expect("writable");
}
