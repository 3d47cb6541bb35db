import Foundation
import Testing
import TransferTestSupport

/// Tests that the measured verbs are all that exist.
@Suite struct StoreVerbTests {
    /// Returns the package functions of the stores and of their database, by the names in the
    /// sources.
    private static func functions() throws -> Set<String> {
        let folder = "\(Checkout.root)/Sources/TransferStore"
        var names: Set<String> = []
        let files =
            FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        for file in files
        where file.contains("Store.swift") || file.contains("Store+")
            || file.hasSuffix("/Database.swift")
        {
            let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            for match in text.matches(of: #/\n    package func (\w+)/#) {
                names.insert(String(match.1))
            }
        }
        return names
    }

    @Test func everyVerbOfTheStoreIsMeasured() throws {
        let functions = try Self.functions()
        let measured = Set(StoreVerb.all.map { String($0.function) })
        let excepted = Set(StoreVerb.exceptions.keys)
        #expect(functions.subtracting(measured).subtracting(excepted) == [])
        #expect(measured.union(excepted).subtracting(functions) == [])
        #expect(measured.intersection(excepted) == [])
    }

    @Test func eachIsMeasuredUnderANameOfItsOwn() {
        #expect(Set(StoreVerb.all.map(\.name)).count == StoreVerb.all.count)
    }
}
