//! The program `compare`.
#![expect(clippy::print_stdout, reason = "the table is its output")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let setting = turnstore_benches::setting::Setting { scale: turnstore_benches::setting::Scale::quick(), dir: dir.path(), subject: None };
    println!("{:#?}", turnstore_benches::rows::append::of_1(&setting)?);
    println!("{:#?}", turnstore_benches::rows::append::of_16(&setting)?);
    Ok(())
}
