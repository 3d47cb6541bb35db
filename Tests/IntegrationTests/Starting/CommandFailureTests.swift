import ChildProcess
import Foundation
import Glibc
import Testing
import TransferTestSupport

/// What a command says when it cannot do its work.
@Suite(.timeLimit(.minutes(5))) struct CommandFailureTests {
    @Test(arguments: [["keys", "list"], ["migrate"], ["verify"]])
    func tellsTheReasonAndNoSecret(command: [String]) async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let url = "host=/nowhere user=u password=verysecret"
        let process = try Program.start(
            command + ["--database-url", url] + directory.options,
            log: log
        )
        #expect(await process.status() != 0)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("No such file or directory"), "\(text)")
        #expect(!text.contains("verysecret"))
    }

    @Test(arguments: [
        ("file", "File exists"), ("file/data", "Not a directory"),
        ("file/data/data", "Not a directory"), ("/proc/data", "No such file or directory"),
    ])
    func tellsWhyADirectoryCannotBeMade(name: String, reason: String) async throws {
        let folder = try TestFolder("integration")
        try folder.write("", to: "file")
        let path = name.hasPrefix("/") ? name : "\(folder.path)/\(name)"
        let log = "\(folder.path)/log"
        let process = try Program.start(
            ["migrate", "--data-directory", path, "--resources", Checkout.root],
            log: log
        )
        #expect(await process.status() == EXIT_FAILURE)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("\(path) cannot be made a directory: \(reason). "), "\(text)")
        #expect(text.contains("TRANSFERD_DATA_DIRECTORY"))
    }
}
