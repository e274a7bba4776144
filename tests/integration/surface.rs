//! The public surface: a checked-in list, so that a change shows what it adds or takes away. `UPDATE_GOLDEN=1` writes it.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

/// What a module makes public, by its path.
struct Module {
    path: String,
    items: Vec<Item>,
    folder: PathBuf,
}

impl Module {
    /// The root of a crate, from its folder.
    fn root(name: &str, folder: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let items = parsed(&folder.join("lib.rs"));
        Self { path: name.into(), items, folder }
    }

    /// A module that a file declares.
    fn child(&self, name: &str) -> Option<Self> {
        let places =
            [self.folder.join(format!("{name}.rs")), self.folder.join(name).join("mod.rs")];
        let file = places.iter().find(|file| file.exists())?;
        let (path, folder) = (format!("{}::{name}", self.path), self.folder.join(name));
        Some(Self { path, items: parsed(file), folder })
    }

    fn list(&self, found: &mut BTreeSet<String>) {
        for item in &self.items {
            match item {
                Item::Mod(module) if is_public(&module.vis) && module.content.is_none() => {
                    found.insert(format!("{}::{} module", self.path, module.ident));
                    if let Some(child) = self.child(&module.ident.to_string()) {
                        child.list(found);
                    }
                }
                Item::Use(import) if is_public(&import.vis) => {
                    self.list_import(&import.tree, &[], found);
                }
                other => {
                    if let Some(name) = name_of(other) {
                        self.list_item(&name, other, found);
                    }
                }
            }
        }
    }

    /// A re-export: `a::{b, c::d}`.
    fn list_import(&self, tree: &UseTree, before: &[String], found: &mut BTreeSet<String>) {
        let deeper = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => {
                self.list_import(&path.tree, &deeper(path.ident.to_string()), found);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.list_import(tree, before, found));
            }
            UseTree::Name(name) => self.list_reexport(&deeper(name.ident.to_string()), found),
            UseTree::Rename(name) => {
                found.insert(format!("{}::{} (renamed)", self.path, name.rename));
            }
            UseTree::Glob(_) => {
                found.insert(format!("{}::*", self.path));
            }
        }
    }

    fn list_reexport(&self, path: &[String], found: &mut BTreeSet<String>) {
        let (name, modules) = path.split_last().unwrap();
        let mut home = None;
        for module in modules.iter().filter(|module| *module != "self") {
            let next = home.as_ref().unwrap_or(self).child(module);
            if next.is_none() {
                break;
            }
            home = next;
        }
        let items = home.as_ref().map_or(&[][..], |home| &home.items);
        let item = items.iter().find(|item| name_of(item).as_deref() == Some(name));
        // What the root takes from a public module is listed there.
        let is_listed = |module: &String| {
            let named = |item: &&Item| matches!(item, Item::Mod(item) if item.ident == module && is_public(&item.vis));
            !self.path.contains("::") && self.items.iter().any(|item| named(&item))
        };
        match (item, &home) {
            (Some(item), Some(home)) if !modules.first().is_some_and(is_listed) => {
                self.list_item(name, item, found);
                self.list_methods(name, home, found);
            }
            _ => {
                found.insert(format!("{}::{name} (re-export)", self.path));
            }
        }
    }

    /// An item and its public parts.
    fn list_item(&self, name: &str, item: &Item, found: &mut BTreeSet<String>) {
        let place = format!("{}::{name}", self.path);
        let fields = |fields: &Fields| -> Vec<String> {
            let public = fields.iter().filter(|field| is_public(&field.vis));
            public.filter_map(|field| field.ident.as_ref().map(ToString::to_string)).collect()
        };
        match item {
            Item::Struct(item) if is_public(&item.vis) => {
                found.insert(format!("{place} struct {{ {} }}", fields(&item.fields).join(", ")));
            }
            Item::Enum(item) if is_public(&item.vis) => {
                let variants: Vec<String> =
                    item.variants.iter().map(|v| v.ident.to_string()).collect();
                found.insert(format!("{place} enum {{ {} }}", variants.join(", ")));
            }
            Item::Trait(item) if is_public(&item.vis) => {
                let name = |item: &TraitItem| match item {
                    TraitItem::Fn(item) => Some(item.sig.ident.to_string()),
                    TraitItem::Const(item) => Some(item.ident.to_string()),
                    TraitItem::Type(item) => Some(item.ident.to_string()),
                    _ => None,
                };
                let items: Vec<String> = item.items.iter().filter_map(name).collect();
                found.insert(format!("{place} trait {{ {} }}", items.join(", ")));
            }
            Item::Fn(item) if is_public(&item.vis) => {
                found.insert(format!("{place} fn"));
            }
            Item::Const(item) if is_public(&item.vis) => {
                found.insert(format!("{place} const"));
            }
            Item::Type(item) if is_public(&item.vis) => {
                found.insert(format!("{place} type"));
            }
            _ => {}
        }
    }

    /// The public methods of a type, in its own file and in the files of its folder.
    fn list_methods(&self, name: &str, home: &Self, found: &mut BTreeSet<String>) {
        let mut files = vec![];
        let top = home.folder.parent().unwrap();
        for folder in [top, &home.folder] {
            let entries = fs::read_dir(folder).into_iter().flatten();
            files.extend(entries.map(|entry| entry.unwrap().path()));
        }
        files.retain(|file| file.extension().is_some_and(|e| e == "rs"));
        for item in files.iter().flat_map(|file| parsed(file)) {
            let Item::Impl(block) = item else { continue };
            let is_own = matches!(&*block.self_ty, syn::Type::Path(path)
                if path.path.segments.last().is_some_and(|s| s.ident == name));
            if block.trait_.is_some() || !is_own {
                continue;
            }
            for item in &block.items {
                let (vis, item) = match item {
                    ImplItem::Fn(item) => (&item.vis, &item.sig.ident),
                    ImplItem::Const(item) => (&item.vis, &item.ident),
                    _ => continue,
                };
                if is_public(vis) {
                    found.insert(format!("{}::{name}::{item}", self.path));
                }
            }
        }
    }
}

fn parsed(file: &Path) -> Vec<Item> {
    syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Const(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

#[test]
fn the_public_surface_is_the_one_in_the_list() {
    let mut found = BTreeSet::new();
    Module::root("jointly", "src").list(&mut found);
    Module::root("jointly_pgm", "crates/pgm/src").list(&mut found);
    Module::root("jointly_privacy", "crates/privacy/src").list(&mut found);
    assert!(found.len() > 300, "only {} items found", found.len());
    let text = found.into_iter().collect::<Vec<_>>().join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/public-surface.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
    let (now, before) = (lines(&text), lines(&known));
    let added: Vec<&String> = now.difference(&before).collect();
    let removed: Vec<&String> = before.difference(&now).collect();
    assert!(
        added.is_empty() && removed.is_empty(),
        "the public surface has changed; UPDATE_GOLDEN=1 accepts it\nadded: {added:#?}\nremoved: {removed:#?}"
    );
}
