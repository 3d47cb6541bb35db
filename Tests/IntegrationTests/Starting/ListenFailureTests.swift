import ArgumentParser
import ChildProcess
import Foundation
import Logging
import Testing
import TransferTestSupport

@testable import transferd

/// What `transferd serve` says about its arguments.
@Suite(.timeLimit(.minutes(3))) struct ListenFailureTests {
    @Test func namesAnAddressThatIsTaken() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let taken = try SilentListener()
        let program = try Program.start(
            ["serve", "--port", "\(taken.port)"] + directory.options,
            log: log
        )
        #expect(await program.status() != 0)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(
            text.contains("127.0.0.1, port \(taken.port): Address already in use. End what listens")
        )
        withExtendedLifetime(taken) {}
    }

    @Test func helpNamesAllLevelsOfTheLog() throws {
        let help = Serve.helpMessage(columns: 1000)
        let line = try #require(help.split(separator: "\n").first { $0.contains("trace, debug") })
        for level in Logger.Level.allCases { #expect(line.contains(level.rawValue)) }
    }
}
