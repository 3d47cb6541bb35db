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
        ["keys", "list"], ["keys", "revoke", "nothing"], ["verify"], ["audit", "verify"],
        ["tenants", "list"], ["pause", "--list"], ["secrets", "rewrap"],
    ])
    func nothingIsMadeInAMistakenDataDirectory(command: [String]) async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let process = try Program.start(command + directory.options, log: log)
        #expect(await process.status() != 0)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("There is no private cluster in \(directory.path)"), "\(text)")
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test func aRefusalIsNotToldAsAFaultOfTheArguments() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        for (command, reason) in [
            (["keys", "list", "--tenant", "nobody"], "There is no tenant of that name."),
            (["keys", "revoke", "nothing"], "There is no key with that identifier."),
            (["tenants", "create", "default"], "There is a tenant of that name already."),
            (["pause", "--tenant", "nobody"], "There is no tenant of that name."),
            (["resume"], "That is not paused."),
        ] {
            let log = try directory.log()
            let process = try Program.start(command + directory.options, log: log)
            #expect(await process.status() == EXIT_FAILURE, "\(command)")
            // Without a usage after it.
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(text.hasSuffix("Error: \(reason)\n"), "\(text)")
        }
        #expect(await service.terminate() == 0)
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
