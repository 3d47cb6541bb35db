import Foundation
import Testing
import TransferModel
import TransferTestSupport

@Suite struct StateDiagramTests {
    private static let path = URL(filePath: "\(Checkout.root)/docs/states.md")

    private struct Edge: Hashable {
        let from: String
        let event: String
        let to: String
    }

    @Test func theDiagramShowsExactlyTheMovesOfTheCode() throws {
        let text = try String(contentsOf: Self.path, encoding: .utf8)
        let drawn = Set(text.split(separator: "\n").compactMap(Self.edge))
        var coded: Set<Edge> = []
        for state in TransferState.allCases {
            for event in TransferEvent.allCases {
                guard let next = state.after(event) else { continue }
                coded.insert(Edge(from: state.rawValue, event: "\(event)", to: next.rawValue))
            }
        }
        #expect(drawn.subtracting(coded).isEmpty)
        #expect(coded.subtracting(drawn).isEmpty)
    }

    @Test(arguments: TransferState.allCases)
    func everyStateHasALineThatNamesItsTable(state: TransferState) throws {
        let text = try String(contentsOf: Self.path, encoding: .utf8)
        #expect(text.split(separator: "\n").contains { $0.hasPrefix("| `\(state.rawValue)` |") })
    }

    /// Parses `from --> to : event`, when neither end is the start or end mark.
    private static func edge(_ line: Substring) -> Edge? {
        let words = line.split(separator: " ")
        guard words.count == 5, words[1] == "-->", words[3] == ":", words[0] != "[*]",
            words[2] != "[*]"
        else { return nil }
        return Edge(from: String(words[0]), event: String(words[4]), to: String(words[2]))
    }
}
