//! The history of nights, in SQLite: runs, their targets, largest r, and when each finding was first and last seen.
//!
//! Invariant: nights are ordered by their number, which only grows, never by the clock. A run is one row from its start on;
//! what it found is joined in by one transaction at its end, so that a killed run leaves a row without an end and nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

const TABLES: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS run (
    number INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, tool TEXT NOT NULL,
    seconds REAL, exit_code INTEGER, unexplained INTEGER);
CREATE TABLE IF NOT EXISTS target (
    run INTEGER NOT NULL, kernel TEXT NOT NULL, target TEXT NOT NULL, cases INTEGER NOT NULL,
    cases_per_second REAL NOT NULL, corpus INTEGER NOT NULL, covered INTEGER NOT NULL,
    PRIMARY KEY (run, kernel, target));
CREATE TABLE IF NOT EXISTS largest (
    run INTEGER NOT NULL, kernel TEXT NOT NULL, version TEXT NOT NULL, dtypes TEXT NOT NULL, r REAL NOT NULL,
    PRIMARY KEY (run, kernel, dtypes));
CREATE TABLE IF NOT EXISTS finding (
    signature TEXT PRIMARY KEY, first_run INTEGER NOT NULL, last_run INTEGER NOT NULL);
";

/// The title of the figure that is of no kernel alone.
pub const UNEXPLAINED: &str = "unexplained findings";

/// The database.
#[derive(Debug)]
pub struct History {
    connection: Connection,
}

/// A run at its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunRecord {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Its exit code.
    pub exit_code: u8,
    /// Signatures that nothing explains.
    pub findings: Vec<String>,
    /// What was searched.
    pub targets: Vec<TargetRecord>,
}

/// A kernel under a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetRecord {
    /// Catalogue id.
    pub kernel: String,
    /// Versions of the kernel's packages.
    pub version: String,
    /// The search's name.
    pub target: String,
    /// Cases tried.
    pub cases: u64,
    /// The same a second.
    pub cases_per_second: f64,
    /// Cases of the grown corpus.
    pub corpus: u64,
    /// What the corpus covers.
    pub covered: u64,
    /// Largest r by element types.
    pub largest: BTreeMap<String, f64>,
}

/// The largest r of earlier nights, of a kernel, a version and element types.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// How many nights.
    pub nights: i64,
    /// The largest r of all of them.
    pub largest: f64,
}

/// Points of a figure: night and value.
type Points = Vec<(i64, f64)>;

impl History {
    /// Opens the file, which is made where needed. Another process's transaction is waited for.
    ///
    /// # Errors
    /// It can't be opened, or is no such database.
    pub fn open(path: &Path) -> rusqlite::Result<History> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.execute_batch(TABLES)?;
        Ok(History { connection })
    }

    /// Begins a run; its number.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn begin(&self, date: &str, tool: &str) -> rusqlite::Result<i64> {
        self.connection.execute("INSERT INTO run (date, tool) VALUES (?1, ?2)", params![date, tool])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Runs before `number` that never came to their end.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn unfinished(&self, number: i64) -> rusqlite::Result<Vec<i64>> {
        let last = "SELECT coalesce(max(number), 0) FROM run WHERE exit_code IS NOT NULL AND number < ?1";
        let query = format!("SELECT number FROM run WHERE number < ?1 AND number > ({last}) ORDER BY number");
        self.connection.prepare(&query)?.query_map([number], |row| row.get(0))?.collect()
    }

    /// Ends a run: all of what it learned, or nothing.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn end(&mut self, number: i64, record: &RunRecord) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "UPDATE run SET seconds = ?2, exit_code = ?3, unexplained = ?4 WHERE number = ?1",
            params![number, record.seconds, record.exit_code, record.findings.len() as i64],
        )?;
        for signature in &record.findings {
            transaction.execute(
                "INSERT INTO finding VALUES (?1, ?2, ?2) ON CONFLICT (signature) DO UPDATE SET last_run = ?2",
                params![signature, number],
            )?;
        }
        for target in &record.targets {
            transaction.execute(
                "INSERT OR REPLACE INTO target VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    number,
                    target.kernel,
                    target.target,
                    target.cases as i64,
                    target.cases_per_second,
                    target.corpus as i64,
                    target.covered as i64
                ],
            )?;
            for (dtypes, r) in &target.largest {
                transaction.execute(
                    "INSERT OR REPLACE INTO largest VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![number, target.kernel, target.version, dtypes, r],
                )?;
            }
        }
        transaction.commit()
    }

    /// The run that had a finding first.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn first_seen(&self, signature: &str) -> rusqlite::Result<Option<i64>> {
        let query = "SELECT first_run FROM finding WHERE signature = ?1";
        self.connection.query_row(query, [signature], |row| row.get(0)).optional()
    }

    /// The largest r of nights before `number`.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn earlier(
        &self,
        number: i64,
        kernel: &str,
        version: &str,
        dtypes: &str,
    ) -> rusqlite::Result<Earlier> {
        let query = "SELECT count(*), coalesce(max(r), 0.0) FROM largest
                     WHERE run < ?1 AND kernel = ?2 AND version = ?3 AND dtypes = ?4";
        self.connection.query_row(query, params![number, kernel, version, dtypes], |row| {
            Ok(Earlier { nights: row.get(0)?, largest: row.get(1)? })
        })
    }

    /// Figures over the latest `nights` nights that came to their end, each with its title.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn trends(&self, nights: u32) -> rusqlite::Result<Vec<(String, Points)>> {
        let latest = format!(
            "(SELECT number FROM run WHERE exit_code IS NOT NULL ORDER BY number DESC LIMIT {nights})"
        );
        let queries = [
            format!("SELECT '{UNEXPLAINED}', number, unexplained FROM run WHERE number IN {latest}"),
            format!(
                "SELECT kernel || ' ' || target || ', cases a second', run, cases_per_second FROM target WHERE run IN {latest}"
            ),
            format!(
                "SELECT kernel || ' ' || target || ', covered', run, covered FROM target WHERE run IN {latest}"
            ),
            format!(
                "SELECT kernel || ' ' || target || ', cases in the corpus', run, corpus FROM target WHERE run IN {latest}"
            ),
            format!(
                "SELECT kernel || ', largest r for ' || dtypes, run, r FROM largest WHERE run IN {latest}"
            ),
        ];
        let mut trends: Vec<(String, Points)> = Vec::new();
        for query in queries {
            let mut statement = self.connection.prepare(&format!("{query} ORDER BY 1, 2"))?;
            let rows =
                statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
            for row in rows {
                let (title, night, value) = row?;
                match trends.last_mut().filter(|(last, _)| *last == title) {
                    Some((_, points)) => points.push((night, value)),
                    None => trends.push((title, vec![(night, value)])),
                }
            }
        }
        Ok(trends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nights_follow_each_other_and_a_killed_one_leaves_no_finding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.sqlite");
        let record = |r: f64, findings: &[&str]| RunRecord {
            seconds: 60.0,
            findings: findings.iter().map(|text| (*text).to_owned()).collect(),
            targets: vec![TargetRecord {
                kernel: "k".to_owned(),
                version: "1".to_owned(),
                target: "differential".to_owned(),
                largest: BTreeMap::from([("f32, f32".to_owned(), r)]),
                ..TargetRecord::default()
            }],
            ..RunRecord::default()
        };
        let mut history = History::open(&path).unwrap();
        assert_eq!(history.begin("2026-01-02", "t").unwrap(), 1);
        history.end(1, &record(0.25, &["a"])).unwrap();
        // The clock went back; the order doesn't.
        assert_eq!(history.begin("2025-01-01", "t").unwrap(), 2);
        drop(history); // killed
        let mut history = History::open(&path).unwrap();
        assert_eq!(history.begin("2026-01-03", "t").unwrap(), 3);
        assert_eq!(history.unfinished(3).unwrap(), [2]);
        history.end(3, &record(0.5, &["a", "b"])).unwrap();
        assert_eq!(history.unfinished(4).unwrap(), [0i64; 0]);
        let first = |signature| history.first_seen(signature).unwrap();
        assert_eq!((first("a"), first("b"), first("c")), (Some(1), Some(3), None));
        let earlier = |version| history.earlier(3, "k", version, "f32, f32").unwrap();
        assert_eq!(earlier("1"), Earlier { nights: 1, largest: 0.25 });
        assert_eq!(earlier("2"), Earlier { nights: 0, largest: 0.0 });
        let trends = history.trends(30).unwrap();
        assert_eq!(trends[0], (UNEXPLAINED.to_owned(), vec![(1, 1.0), (3, 2.0)]));
        assert_eq!(trends.last().unwrap().1, [(1, 0.25), (3, 0.5)]);
    }
}
