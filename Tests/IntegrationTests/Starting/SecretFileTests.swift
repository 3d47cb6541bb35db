import Foundation
import Testing
import TransferTestSupport

@testable import transferd

@Suite struct SecretFileTests {
    @Test func ofManyThatMakeItOneDoes() async throws {
        let folder = try TestFolder("integration")
        let file = SecretFile(path: "\(folder.path)/secrets-key")
        let makers = try await withThrowingTaskGroup(of: (Int, Bool, String).self) { group in
            for number in 0..<32 {
                group.addTask {
                    let isMade = try file.create("key \(number)")
                    return (number, isMade, try String(contentsOfFile: file.path, encoding: .utf8))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winners = makers.filter(\.1)
        #expect(winners.count == 1)
        let winner = try #require(winners.first)
        #expect(makers.allSatisfy { $0.2 == "key \(winner.0)" })
        let files = FileManager.default
        #expect(try files.contentsOfDirectory(atPath: folder.path) == ["secrets-key"])
        let attributes = try files.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func whereThereIsNoFolderItSaysSo() throws {
        let folder = try TestFolder("integration")
        let file = SecretFile(path: "\(folder.path)/absent/secrets-key")
        #expect(throws: SecretFileError.self) { try file.create("key") }
    }
}
