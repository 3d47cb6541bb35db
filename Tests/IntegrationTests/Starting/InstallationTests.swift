import ChildProcess
import Foundation
import Glibc
import Testing
import TransferTestSupport

/// The program at its installed place, run from somewhere else.
@Suite(.timeLimit(.minutes(5))) struct InstallationTests {
    private static let foreign = "migrations/0001_foreign.up.sql"

    /// Runs the program installed in `prefix`, in another folder, until it ends.
    ///
    /// - Returns: the exit status and the program's output or log.
    private func run(
        in folder: TestFolder,
        _ prefix: TestFolder,
        _ arguments: [String]
    ) async throws -> (status: Int32, output: String) {
        let program = "\(prefix.path)/bin/transferd"
        let log = "\(prefix.path)/log"
        if !FileManager.default.fileExists(atPath: program) {
            // Not written by this process: a child of another test would have it open for writing,
            // and a file open for writing cannot be run.
            let install = try ChildProcess(
                "/usr/bin/install",
                ["-D", Program.path, program],
                environment: Program.environment,
                errors: .overwriting(log)
            )
            #expect(await install.status() == 0)
        }
        let process = try ChildProcess(
            program,
            arguments,
            in: folder.path,
            environment: Program.environment,
            output: .piped,
            errors: .overwriting(log)
        )
        let output = await process.line() ?? Data()
        let status = await process.status()
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return (status, String(decoding: output, as: UTF8.self) + text)
    }

    @Test func anInstalledProgramTakesItsOwnMigrations() async throws {
        let directory = try DataDirectory()
        let prefix = try TestFolder("integration")
        let elsewhere = try TestFolder("integration")
        try elsewhere.write("CREATE TABLE foreign_table ()", to: Self.foreign)
        try elsewhere.write(
            "DROP TABLE foreign_table",
            to: Self.foreign.replacing(".up.", with: ".down.")
        )
        let migrate = ["migrate", "--data-directory", directory.path]
        let refused = try await run(in: elsewhere, prefix, migrate)
        #expect(refused.status != 0)
        #expect(refused.output.contains("TRANSFERD_RESOURCES"))
        #expect(!FileManager.default.fileExists(atPath: directory.path))
        // Nor does a folder that has both replace the installed files.
        try elsewhere.write("CREATE TABLE t ()", to: "migrations/0001_tenancy.up.sql")
        try elsewhere.write("", to: "openapi.yaml")
        try elsewhere.write("", to: "page/index.html")
        try prefix.write("", to: "share/log")
        try FileManager.default.createSymbolicLink(
            atPath: "\(prefix.path)/share/transferd",
            withDestinationPath: Checkout.root
        )
        let names = try FileManager.default.contentsOfDirectory(
            atPath: Checkout.migrations
        )
        let count = names.count { $0.hasSuffix(".up.sql") }
        let migrated = try await run(in: elsewhere, prefix, migrate)
        #expect(migrated.status == 0)
        #expect(migrated.output.hasPrefix("applied \(count)\n"))
    }
}
