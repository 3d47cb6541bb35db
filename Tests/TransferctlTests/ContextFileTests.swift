import ArgumentParser
import Foundation
import Testing
import TransferClient

@testable import transferctl

@Suite struct ContextFileTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "contexts-\(UUID().uuidString)")

    private var path: String { folder.appending(path: "deep/contexts.json").path }

    private func mode() throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test func isReadableByItsOwnerAloneAndRefusedOtherwise() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try ContextFile.read(at: path).contexts.isEmpty)
        var file = ContextFile()
        file.contexts["home"] = ContextFile.Context(url: "http://a", apiKey: "key")
        file.current = "home"
        try file.write(to: path)
        #expect(try mode() == 0o600)
        #expect(try ContextFile.read(at: path).contexts == file.contexts)
        for mode in [0o640, 0o604, 0o620] {
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: mode)],
                ofItemAtPath: path
            )
            #expect(throws: ContextFile.Fault.readableByOthers(path: path)) {
                try ContextFile.read(at: path)
            }
        }
    }

    @Test func saysWhichFileItCannotWriteAndLeavesNoOther() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let manager = FileManager.default
        try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
        let fault = #expect(throws: FileFault.self) { try ContextFile().write(to: path) }
        #expect(fault?.description == "\(path) cannot be written: Is a directory")
        let names = try manager.contentsOfDirectory(atPath: folder.appending(path: "deep").path)
        #expect(names == ["contexts.json"])
    }

    /// As `TRANSFERCTL_CONFIG` may name it, with a tilde that no shell has replaced.
    @Test func isReadWhereItWasWritten() throws {
        let name = "~/\(UUID().uuidString)"
        // A folder with this name, in the one of the tests.
        defer { try? FileManager.default.removeItem(atPath: "./~") }
        try ContextFile(current: "home").write(to: name)
        #expect(try ContextFile.read(at: name).current == "home")
    }

    @Test func isTakenByNameThenFromTheEnvironmentThenTheCurrentOne() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var file = ContextFile()
        for name in ["one", "two", "three"] {
            file.contexts[name] = ContextFile.Context(url: "http://\(name)", apiKey: "key")
        }
        file.current = "one"
        try file.write(to: path)
        func url(_ arguments: [String], _ variables: [String: String]) throws -> String {
            try ServiceOptions.parse(arguments).service(
                environment: variables.merging(["TRANSFERCTL_CONFIG": path]) { $1 }
            ).url
        }
        let service = ["TRANSFERD_URL": "http://environment", "TRANSFERD_API_KEY": "key"]
        #expect(try url([], [:]) == "http://one")
        #expect(try url([], ["TRANSFERCTL_CONTEXT": "two"]) == "http://two")
        #expect(try url([], service) == "http://environment")
        #expect(try url(["--context", "three"], service) == "http://three")
        // As Compose and shells leave a variable that has no value.
        #expect(try url([], ["TRANSFERD_URL": "", "TRANSFERCTL_CONTEXT": ""]) == "http://one")
        let folders = ["TRANSFERCTL_CONFIG": "", "XDG_CONFIG_HOME": "", "HOME": "/home/me"]
        #expect(ContextFile.path(folders) == "/home/me/.config/transferctl/contexts.json")
        #expect(throws: ContextFile.Fault.unknownContext("four", path: path)) {
            try url(["--context", "four"], [:])
        }
    }
}
