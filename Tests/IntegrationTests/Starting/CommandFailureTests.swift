import ChildProcess
import Foundation
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
}
