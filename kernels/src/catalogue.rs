//! The catalogue: which kernels are tested, where their Python entry points are, and in which variants.
//!
//! Invariant: a kernel is data (`catalog/*.toml`, embedded in the binary); a malformed entry is an error with its place,
//! never a default. Not here: lowering, which the exporter does from an entry and a variant.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use countersign_dtype::DType;
use countersign_reference::Options;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::family::Family;
use crate::rpa::facts::DEFAULT_MASK_VALUE;
use crate::variant::{Generation, Variant};

/// The embedded catalogue files: name for messages, text.
const BUILTIN: [(&str, &str); 5] = [
    ("catalog/jax-rpa.toml", include_str!("../catalog/jax-rpa.toml")),
    ("catalog/jax-rpa@0.6.0.toml", include_str!("../catalog/jax-rpa@0.6.0.toml")),
    ("catalog/jax-rpa@0.7.2.toml", include_str!("../catalog/jax-rpa@0.7.2.toml")),
    ("catalog/jax-rpa@0.8.1.toml", include_str!("../catalog/jax-rpa@0.8.1.toml")),
    ("catalog/jax-rpa@0.9.2.toml", include_str!("../catalog/jax-rpa@0.9.2.toml")),
];

/// How often a variant is run: `small` in every job, `full` where time allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Milliseconds a case.
    Small,
    /// Shapes of real models.
    Full,
}

/// Most elements of q, of the cache and of the page table that the small tier may have.
pub const SMALL_ELEMENTS: usize = 1 << 20;

impl Tier {
    /// The tier that a variant belongs to by its size, wherever it is written down.
    pub fn of(variant: &Variant) -> Tier {
        let v = variant;
        let arrays = [
            &[v.tokens, v.q_heads, v.head_dim][..],
            &[v.pages, v.page_size, 2, v.kv_heads, v.head_dim],
            &[v.max_seqs, v.pages_per_seq],
        ];
        let elements =
            |extents: &[usize]| extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        let is_small =
            arrays.into_iter().all(|extents| elements(extents).is_some_and(|n| n <= SMALL_ELEMENTS));
        if is_small { Tier::Small } else { Tier::Full }
    }

    /// `small` or `full`.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Small => "small",
            Tier::Full => "full",
        }
    }
}

/// Where a kernel is found in Python.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonEntry {
    /// Module that holds the functions below, or the file of a kernel of one's own: a path that ends in `.py`, in a catalogue
    /// file relative to its folder.
    pub module: String,
    /// The function that users call and that is lowered.
    pub entry_point: String,
    /// Check of shapes, dtypes and options, called by the entry point while it is traced.
    pub static_validator: Option<String>,
    /// Check of metadata values.
    pub dynamic_validator: Option<String>,
    /// The module's own reference.
    pub reference: Option<String>,
    /// Requirements that decide the kernel's code, e.g. `jax==0.10.2`; the exporter's locked list follows from them.
    pub packages: Vec<String>,
}

impl PythonEntry {
    /// `package.module:function`, or `file.py:function`.
    pub fn call(&self) -> String {
        format!("{}:{}", self.module, self.entry_point)
    }

    /// The file of a kernel of one's own.
    pub fn file(&self) -> Option<&Path> {
        self.module.ends_with(".py").then(|| Path::new(&self.module))
    }

    /// Name of the file that the kernel is written in, without folders.
    pub fn file_name(&self) -> String {
        match self.file().and_then(Path::file_name) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => format!("{}.py", self.module.rsplit('.').next().unwrap_or(&self.module)),
        }
    }
}

/// What a kernel leaves in output rows past the last token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaddingRows {
    /// Any value, other sequences' rows among them.
    Stale,
    /// What was there before the call.
    Untouched,
}

/// What a kernel may read beyond the tokens that it attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrayReads {
    /// Pages of the sequence itself, its first page among them, as filler of a block.
    OwnFiller,
    /// Nothing.
    None,
}

/// What a kernel may do without being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Output rows past the last token.
    pub padding_rows: PaddingRows,
    /// Reads that no result depends on.
    pub stray_reads: StrayReads,
    /// Whether the cache is an output as well.
    pub writes_cache: bool,
}

/// A variant and the tier that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueVariant {
    /// When it is run.
    pub tier: Tier,
    /// The static side of the call.
    pub variant: Variant,
}

/// A kernel under test.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelEntry {
    /// Name used in case files and on the command line, e.g. `jax-rpa`; that kernel as another release has it is
    /// `jax-rpa@0.7.2`.
    pub id: String,
    /// Decides operands, contract and checks.
    pub family: Family,
    /// One line.
    pub title: String,
    /// A sentence or two.
    pub description: String,
    /// Where it is in Python.
    pub python: PythonEntry,
    /// What it may do without being wrong.
    pub facts: Facts,
    /// In the order of the file.
    pub variants: Vec<CatalogueVariant>,
}

impl KernelEntry {
    /// Whether it is another release of a kernel of the catalogue, tested only where it is named.
    pub fn is_other_release(&self) -> bool {
        kernel_name(&self.id) != self.id
    }

    /// Variants of a tier, in catalogue order. `Tier::Full` contains the small ones as well.
    pub fn variants(&self, tier: Tier) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(move |entry| entry.tier <= tier).map(|entry| &entry.variant)
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().map(|entry| &entry.variant).find(|variant| variant.name == name)
    }
}

/// A kernel's id without the release.
pub fn kernel_name(id: &str) -> &str {
    id.split_once('@').map_or(id, |(name, _)| name)
}

/// All kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// In the order of ids.
    pub kernels: Vec<KernelEntry>,
}

impl Catalogue {
    /// The catalogue that is embedded in the binary.
    ///
    /// # Errors
    /// Only where an embedded file is malformed, which a test excludes.
    pub fn builtin() -> Result<Catalogue, CatalogueError> {
        let mut catalogue = Catalogue { kernels: Vec::new() };
        for (file, text) in BUILTIN {
            let kernel = catalogue.parse_kernel(file, text)?;
            catalogue.kernels.push(kernel);
        }
        Ok(catalogue)
    }

    /// Adds the kernels of a folder's `.toml` files, in the order of their names. A `known.toml` among them is what is known of
    /// these kernels, and no kernel.
    ///
    /// # Errors
    /// A folder without such files, an unreadable or malformed file, an id that is there already.
    pub fn extend(&mut self, folder: &Path) -> Result<(), CatalogueError> {
        let error = |file: &Path, message: String| CatalogueError {
            file: file.display().to_string(),
            line: 0,
            column: 0,
            message,
        };
        let entries = fs::read_dir(folder).map_err(|why| error(folder, why.to_string()))?;
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        let is_known = |file: &Path| file.file_name().is_some_and(|name| name == "known.toml");
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml") && !is_known(file));
        files.sort();
        if files.is_empty() {
            return Err(error(
                folder,
                "no .toml file there; a catalogue file describes a kernel each".into(),
            ));
        }
        for file in files {
            let text = fs::read_to_string(&file).map_err(|why| error(&file, why.to_string()))?;
            let mut kernel = self.parse_kernel(&file.display().to_string(), &text)?;
            if self.kernel(&kernel.id).is_some() {
                return Err(error(
                    &file,
                    format!("there is a kernel `{}` already; give it another id", kernel.id),
                ));
            }
            if let Some(path) = kernel.python.file() {
                let path = absolute(&folder.join(path)).map_err(|why| error(&file, why))?;
                kernel.python.module = path;
            }
            self.kernels.push(kernel);
        }
        Ok(())
    }

    /// Puts the function of a file in the place of every kernel's own entry point: whichever is chosen, that function is called.
    ///
    /// # Errors
    /// A file that isn't there.
    pub fn substitute(&mut self, file: &Path, function: &str) -> Result<(), String> {
        let path = absolute(file)?;
        for PythonEntry { module, entry_point, .. } in
            self.kernels.iter_mut().map(|kernel| &mut kernel.python)
        {
            module.clone_from(&path);
            function.clone_into(entry_point);
        }
        Ok(())
    }

    /// The kernel of that id. `ID@RELEASE` also names a kernel whose own packages are of that release: with jax 0.10.2 pinned for
    /// `jax-rpa`, `jax-rpa@0.10.2` is it.
    pub fn kernel(&self, id: &str) -> Option<&KernelEntry> {
        let named = |id: &str| self.kernels.iter().find(|kernel| kernel.id == id);
        named(id).or_else(|| {
            let (name, release) = id.split_once('@')?;
            named(name).filter(|kernel| {
                let packages = &kernel.python.packages;
                packages
                    .iter()
                    .any(|package| package.split_once("==").is_some_and(|(_, held)| held == release))
            })
        })
    }

    /// Reads one catalogue file; `file` is used in messages only.
    ///
    /// # Errors
    /// Text that is no TOML, a key that is unknown, missing or of a wrong type, a variant that can't exist, a name used twice.
    fn parse_kernel(&self, file: &str, text: &str) -> Result<KernelEntry, CatalogueError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct KernelText {
            version: Spanned<u32>,
            id: Spanned<String>,
            family: Family,
            title: String,
            description: String,
            python: PythonEntry,
            facts: Facts,
            variants: Tiers,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Tiers {
            #[serde(default)]
            small: Vec<Spanned<VariantText>>,
            #[serde(default)]
            full: Vec<Spanned<VariantText>>,
            /// The kernel whose variants are taken.
            of: Option<Spanned<String>>,
            /// Which of them, by name; absent: all.
            only: Option<Vec<Spanned<String>>>,
        }
        let error_at = |offset: usize, message: String| {
            let (line, column) = place(text, offset);
            CatalogueError { file: file.to_string(), line, column, message }
        };
        let kernel: KernelText = toml::from_str(text).map_err(|error| {
            error_at(error.span().map_or(0, |span| span.start), error.message().to_string())
        })?;
        if *kernel.version.get_ref() != 1 {
            let message =
                format!("version {} is not known; this build reads version 1", kernel.version.get_ref());
            return Err(error_at(kernel.version.span().start, message));
        }
        // Ids are fields of signatures and of file names.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if kernel.id.get_ref().is_empty() || !kernel.id.get_ref().chars().all(is_plain) {
            let message =
                format!("id {:?} must be of letters, digits and `-`, `_`, `.`, `@`", kernel.id.get_ref());
            return Err(error_at(kernel.id.span().start, message));
        }
        let mut variants = Vec::new();
        if let Some(of) = &kernel.variants.of {
            let base = self.kernel(of.get_ref()).ok_or_else(|| {
                error_at(
                    of.span().start,
                    format!("no kernel {:?} is in the catalogue before this one", of.get_ref()),
                )
            })?;
            if base.family != kernel.family {
                return Err(error_at(of.span().start, format!("{} is of another family", base.id)));
            }
            match &kernel.variants.only {
                None => variants.extend_from_slice(&base.variants),
                Some(only) => {
                    for name in only {
                        let found = base.variants.iter().find(|entry| entry.variant.name == *name.get_ref());
                        let message = || format!("{} has no variant {:?}", base.id, name.get_ref());
                        variants.push(found.ok_or_else(|| error_at(name.span().start, message()))?.clone());
                    }
                }
            }
        }
        let mut names: BTreeSet<String> = variants.iter().map(|entry| entry.variant.name.clone()).collect();
        let small = kernel.variants.small.into_iter().map(|text| (Tier::Small, text));
        for (tier, text) in small.chain(kernel.variants.full.into_iter().map(|text| (Tier::Full, text))) {
            let start = text.span().start;
            let mut variant =
                Variant::try_from(text.into_inner()).map_err(|message| error_at(start, message))?;
            variant.family = kernel.family;
            kernel.family.model().settle(&mut variant).map_err(|message| error_at(start, message))?;
            if !names.insert(variant.name.clone()) {
                return Err(error_at(start, format!("variant {:?} is there twice", variant.name)));
            }
            variants.push(CatalogueVariant { tier, variant });
        }
        let KernelText { id, family, title, description, python, facts, .. } = kernel;
        let id = id.into_inner();
        Ok(KernelEntry { id, family, title, description, python, facts, variants })
    }
}

/// The absolute path of a file that is there.
fn absolute(file: &Path) -> Result<String, String> {
    if !file.is_file() {
        return Err(format!("{}: no such file", file.display()));
    }
    let path = std::path::absolute(file).map_err(|why| format!("{}: {why}", file.display()))?;
    path.into_os_string().into_string().map_err(|_| format!("{}: not a UTF-8 path", file.display()))
}

/// A malformed catalogue or variant, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueError {
    /// File as named by the caller.
    pub file: String,
    /// 1-based line, 0 where there is none.
    pub line: usize,
    /// 1-based column, 0 where there is none.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CatalogueError { file, line, column, message } = self;
        if *line == 0 {
            write!(f, "{file}: {message}")
        } else {
            write!(f, "{file}:{line}:{column}: {message}")
        }
    }
}

impl std::error::Error for CatalogueError {}

/// 1-based line and column of a byte offset.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The readable form of a [`Variant`], as it stands in catalogues and case files.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VariantText {
    /// Unique within its kernel.
    pub name: String,
    /// Rows of q.
    pub tokens: usize,
    /// Query heads.
    pub q_heads: usize,
    /// KV heads.
    pub kv_heads: usize,
    /// Head dimension.
    pub head_dim: usize,
    /// Tokens per page.
    pub page_size: usize,
    /// Physical pages.
    pub pages: usize,
    /// Rows of the page table.
    pub max_seqs: usize,
    /// Columns of the page table.
    pub pages_per_seq: usize,
    /// Name of q's element type.
    pub q_dtype: String,
    /// Name of the cache's element type.
    pub kv_dtype: String,
    /// Pages per KV block; absent: the kernel's own choice.
    pub pages_per_block: Option<usize>,
    /// Queries per query block; absent: the kernel's own choice.
    pub queries_per_block: Option<usize>,
    /// `v4`, `v5e`, `v5p`, `v6e` or `v7x`.
    pub generation: String,
    /// Factor on q·k.
    pub sm_scale: f64,
    /// Window in tokens; absent: none.
    pub sliding_window: Option<i32>,
    /// Soft cap; absent: none.
    pub soft_cap: Option<f64>,
    /// Added to masked scores; absent: upstream's default.
    pub mask_value: Option<f64>,
    /// Factor on stored K.
    pub k_scale: Option<f64>,
    /// Factor on stored V.
    pub v_scale: Option<f64>,
}

impl TryFrom<VariantText> for Variant {
    type Error = String;

    /// Fails with a message where a name is unknown or an extent is zero. Options at their edges are allowed: they are tested. The
    /// text doesn't say the family: that is the kernel's, and [`Family::Rpa`] until it is set.
    fn try_from(text: VariantText) -> Result<Variant, String> {
        let name = text.name;
        let extents = [
            ("tokens", text.tokens),
            ("q_heads", text.q_heads),
            ("kv_heads", text.kv_heads),
            ("head_dim", text.head_dim),
            ("page_size", text.page_size),
            ("pages", text.pages),
            ("max_seqs", text.max_seqs),
            ("pages_per_seq", text.pages_per_seq),
        ];
        for (key, value) in extents {
            if value == 0 || value > i32::MAX as usize {
                return Err(format!("variant {name:?}: {key} = {value} must be from 1 to {}", i32::MAX));
            }
        }
        let dtype = |key: &str, value: &str| {
            DType::from_name(value).ok_or_else(|| {
                format!("variant {name:?}: {key} = {value:?} is no element type (f32, bf16, f8e4m3fn, …)")
            })
        };
        let generation = Generation::from_name(&text.generation).ok_or_else(|| {
            let known = Generation::ALL.map(Generation::name).join(", ");
            format!("variant {name:?}: generation = {:?} is not one of {known}", text.generation)
        })?;
        Ok(Variant {
            family: Family::Rpa,
            q_dtype: dtype("q_dtype", &text.q_dtype)?,
            kv_dtype: dtype("kv_dtype", &text.kv_dtype)?,
            name,
            tokens: text.tokens,
            q_heads: text.q_heads,
            kv_heads: text.kv_heads,
            head_dim: text.head_dim,
            page_size: text.page_size,
            pages: text.pages,
            max_seqs: text.max_seqs,
            pages_per_seq: text.pages_per_seq,
            pages_per_block: text.pages_per_block,
            queries_per_block: text.queries_per_block,
            tuned: None,
            options: Options {
                sm_scale: text.sm_scale as f32,
                sliding_window: text.sliding_window,
                soft_cap: text.soft_cap.map(|cap| cap as f32),
                mask_value: text.mask_value.map_or(DEFAULT_MASK_VALUE, |value| value as f32),
                k_scale: text.k_scale.map(|scale| scale as f32),
                v_scale: text.v_scale.map(|scale| scale as f32),
            },
            generation,
        })
    }
}

impl From<&Variant> for VariantText {
    fn from(variant: &Variant) -> VariantText {
        let Options { sm_scale, sliding_window, soft_cap, mask_value, k_scale, v_scale } = variant.options;
        VariantText {
            name: variant.name.clone(),
            tokens: variant.tokens,
            q_heads: variant.q_heads,
            kv_heads: variant.kv_heads,
            head_dim: variant.head_dim,
            page_size: variant.page_size,
            pages: variant.pages,
            max_seqs: variant.max_seqs,
            pages_per_seq: variant.pages_per_seq,
            q_dtype: variant.q_dtype.name().to_string(),
            kv_dtype: variant.kv_dtype.name().to_string(),
            pages_per_block: variant.pages_per_block,
            queries_per_block: variant.queries_per_block,
            generation: variant.generation.name().to_string(),
            sm_scale: shortest(sm_scale),
            sliding_window,
            soft_cap: soft_cap.map(shortest),
            mask_value: (mask_value.to_bits() != DEFAULT_MASK_VALUE.to_bits()).then(|| shortest(mask_value)),
            k_scale: k_scale.map(shortest),
            v_scale: v_scale.map(shortest),
        }
    }
}

/// The double whose shortest decimal form is that of the single, so that files show 0.1 and not 0.10000000149011612.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin() -> KernelEntry {
        Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone()
    }

    fn error(edit: impl Fn(&str) -> String) -> CatalogueError {
        Catalogue { kernels: Vec::new() }.parse_kernel("jax-rpa.toml", &edit(BUILTIN[0].1)).unwrap_err()
    }

    #[test]
    fn an_id_that_would_break_signatures_is_refused_at_its_place() {
        let error = error(|text| text.replace("id = \"jax-rpa\"", "id = \"a|b c\""));
        assert!(error.message.contains("letters, digits") && error.line > 1, "{error}");
    }

    #[test]
    fn builtin_variants_meet_every_structural_branch() {
        let kernel = builtin();
        let all: Vec<&Variant> = kernel.variants(Tier::Small).collect();
        assert!(all.len() >= 12);
        let has = |what: &str, test: &dyn Fn(&Variant) -> bool| {
            assert!(all.iter().any(|variant| test(variant)), "no variant with {what}");
        };
        for generation in Generation::ALL {
            has(generation.name(), &|v| v.generation == generation);
        }
        for heads in [1, 2, 4] {
            has("kv heads", &|v| v.kv_heads == heads);
        }
        for ratio in [1, 2, 3, 4, 8] {
            has("ratio", &|v| v.q_heads == ratio * v.kv_heads);
        }
        for page_size in [1, 8, 16] {
            has("page size", &|v| v.page_size == page_size);
        }
        for queries in [1, 8, 16] {
            has("query block", &|v| v.queries_per_block == Some(queries));
        }
        for dtype in [DType::F32, DType::Bf16] {
            has("two head blocks", &|v| {
                v.q_dtype == dtype && crate::rpa::facts::grid(v).is_some_and(|g| g[0] == 2)
            });
            has("window", &|v| v.q_dtype == dtype && v.options.sliding_window.is_some());
            has("cap", &|v| v.q_dtype == dtype && v.options.soft_cap.is_some());
        }
        has("tokens no multiple of the query block", &|v| {
            v.queries_per_block.is_some_and(|q| q > 1 && v.tokens % q != 0)
        });
        has("pages per block that divide", &|v| {
            v.pages_per_block.is_some_and(|p| p > 1 && v.pages_per_seq.is_multiple_of(p))
        });
        has("pages per block that don't divide", &|v| {
            v.pages_per_block.is_some_and(|p| v.pages_per_seq % p != 0)
        });
        has("even pages per sequence", &|v| v.pages_per_seq % 2 == 0);
        has("odd pages per sequence", &|v| v.pages_per_seq % 2 == 1);
        has("more than 128 rows", &|v| v.tokens > 129);
        has("reach past 128 tokens", &|v| v.pages_per_seq * v.page_size > 129);
        for variant in &all {
            let name = &variant.name;
            let cache = variant.pages * variant.page_size * 2 * variant.kv_heads * variant.head_dim;
            assert!(cache <= 400_000, "{name}: {cache} elements of cache");
            assert!(variant.pages >= variant.max_seqs * variant.pages_per_seq + 2, "{name}: no spare pages");
            assert!((8..=160).contains(&variant.tokens) && variant.head_dim == 128, "{name}");
            assert_eq!(Tier::of(variant), Tier::Small, "{name}");
        }
    }

    #[test]
    fn variants_survive_their_text() {
        for entry in builtin().variants {
            let text = toml::to_string(&VariantText::from(&entry.variant)).unwrap();
            let read: VariantText = toml::from_str(&text).unwrap();
            assert_eq!(Variant::try_from(read).unwrap(), entry.variant);
            let shortest = format!("sm_scale = {:?}\n", entry.variant.options.sm_scale);
            assert!(text.contains(&shortest), "no {shortest} in {text}");
        }
    }

    #[test]
    fn errors_name_their_place() {
        let unknown = error(|text| text.replacen("page_size = 16", "page_sizes = 16", 1));
        assert!(unknown.message.contains("unknown field `page_sizes`"), "{unknown}");
        let line = BUILTIN[0].1.lines().position(|line| line == "page_size = 16").unwrap() + 1;
        assert_eq!((unknown.line, unknown.column), (line, 1), "{unknown}");

        let twice = error(|text| text.replacen("name = \"f32-q8-kv4\"", "name = \"f32-q4-kv4\"", 1));
        assert!(twice.message.contains("there twice"), "{twice}");
        assert!(twice.line > 1);

        let dtype = error(|text| text.replacen("q_dtype = \"f32\"", "q_dtype = \"f33\"", 1));
        assert!(dtype.message.contains("q_dtype = \"f33\""), "{dtype}");
        let generation = error(|text| text.replacen("generation = \"v4\"", "generation = \"v3\"", 1));
        assert!(generation.message.contains("v4, v5e, v5p, v6e, v7x"), "{generation}");
        let zero = error(|text| text.replacen("max_seqs = 6", "max_seqs = 0", 1));
        assert!(zero.message.contains("max_seqs = 0"), "{zero}");
        let version = error(|text| text.replacen("version = 1", "version = 2", 1));
        assert!(version.message.contains("version 2"), "{version}");
        assert!(error(|_| "id = ".to_string()).line == 1);
    }
}
