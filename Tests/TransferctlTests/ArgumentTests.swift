import ArgumentParser
import Foundation
import Testing
import TransferClient

@testable import transferctl

@Suite struct ArgumentTests {
    @Test(arguments: [
        ["listen", "s", "--port", "65536"], ["listen", "s", "--port", "70000"],
        ["listen", "s", "--port=-1"],
    ])
    func aPortIsNotBeyondItsRange(arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) {
            _ = try Transferctl.parseAsRoot(arguments)
        }
        #expect(Transferctl.exitCode(for: error) == .validationFailure)
        #expect(Transferctl.message(for: error).contains("from 0 to 65535"))
        _ = try Transferctl.parseAsRoot(["listen", "s", "--port", "65535"])
    }

    @Test(arguments: [
        ["get", "--session", "", "http://a/"], ["put", "f", "http://a/", "--session", ""],
        ["listen", ""], ["attach", ""], ["wait", ""], ["tasks", ""], ["events", ""],
        ["cancel", "--session", ""], ["wait", String(repeating: "é", count: 128)],
    ])
    func aSessionHasAName(arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) {
            _ = try Transferctl.parseAsRoot(arguments)
        }
        #expect(Transferctl.exitCode(for: error) == .validationFailure)
        #expect(Transferctl.message(for: error).contains("1 to 255 bytes"))
    }

    @Test(arguments: [
        "ftp://x", "nourl", "http://", "https:///a", "x:80", "http://a:0", "http://a:65536",
        "http://a:99999", "http://a:99999999999999999999", "http://a?x", "http://a#x",
        "http://user@a", "http://user:word@a", "http://a/v1", "http://a/below/v1/",
    ])
    func aServiceIsReachedByHTTP(url: String) throws {
        let error = try #require(throws: (any Error).self) {
            _ = try Transferctl.parseAsRoot(["contexts", "add", "b", url])
        }
        #expect(Transferctl.exitCode(for: error) == .validationFailure)
        let refused = try #require(throws: TransferError.self) {
            _ = try ServiceOptions.parse([]).service(
                environment: ["TRANSFERD_URL": url, "TRANSFERD_API_KEY": "key"]
            )
        }
        #expect(refused.code == .misconfigured && refused.message.contains("http://"))
    }

    @Test func aContextHasAnAddress() throws {
        let error = try #require(throws: (any Error).self) {
            _ = try Transferctl.parseAsRoot(["contexts", "add", "b", ""])
        }
        #expect(Transferctl.exitCode(for: error) == .validationFailure)
    }

    @Test(arguments: ["tdk_a\rb", "tdk_a\nb", "tdk_a\0b", "tdk_a b", "tdk_é", "\r\n"])
    func aKeyThatCannotBeSentIsRefusedAndNotTold(key: String) throws {
        let refused = try #require(throws: TransferError.self) {
            _ = try ServiceOptions.parse([]).service(
                environment: ["TRANSFERD_URL": "http://a", "TRANSFERD_API_KEY": key]
            )
        }
        #expect(refused.code == .misconfigured && refused.exitCode == ExitCode(2))
        #expect(!"\(refused)".contains("tdk"))
    }

    @Test(arguments: ["key\r", "key\n", "key\r\n"])
    func theEndOfItsLineIsNoPartOfAKey(key: String) throws {
        _ = try ServiceOptions.parse([]).service(
            environment: ["TRANSFERD_URL": "http://a", "TRANSFERD_API_KEY": key]
        )
    }

    @Test(arguments: [
        "http://127.0.0.1:8080", "HTTPS://transferd.example/", "http://[::1]:80",
        "http://a:65535/below",
    ])
    func aServiceHasAHost(url: String) throws {
        _ = try Transferctl.parseAsRoot(["contexts", "add", "b", url])
    }

    /// As editors of Windows write one.
    @Test func aListOfURLsMayHaveAByteOrderMark() {
        let text = Data("\u{feff}http://a/1\r\n\n  http://a/2 \n".utf8)
        #expect(Get.lines(text) == ["http://a/1", "http://a/2"])
    }

    /// A shell that means a home replaces it.
    @Test(arguments: ["~", "~/files", "~root"])
    func aTildeIsAName(path: String) {
        let folder = FileManager.default.currentDirectoryPath
        #expect(URL(literal: path).path == "\(folder)/\(path)")
        #expect(URL(literal: "/\(path)").path == "/\(path)")
    }
}
