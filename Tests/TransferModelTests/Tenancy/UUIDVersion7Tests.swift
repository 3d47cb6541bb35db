import Foundation
import Testing
import TransferModel

@Suite struct IdentifiersTests {
    @Test func carriesTheVersionAndVariantOfRFC9562() {
        for _ in 0..<1000 {
            let bytes = Self.bytes(.version7())
            #expect(bytes[6] >> 4 == 7)
            #expect(bytes[8] >> 6 == 0b10)
        }
    }

    @Test func beginsWithTheMillisecondsSince1970() {
        // The instant of RFC 9562, appendix A.6.
        let bytes = Self.bytes(.version7(at: Date(timeIntervalSince1970: 1_645_557_742)))
        #expect(bytes.prefix(6) == [0x01, 0x7F, 0x22, 0xE2, 0x79, 0xB0])
    }

    @Test func ordersByTime() {
        let instants = (0..<100).map {
            Date(timeIntervalSince1970: 1_700_000_000 + Double($0) / 500)
        }
        let ids = instants.map { TaskID(.version7(at: $0)).description }
        #expect(ids == ids.sorted())
    }

    @Test func differsWithinOneMillisecond() {
        let now = Date()
        #expect(Set((0..<10_000).map { _ in UUID.version7(at: now) }).count == 10_000)
    }

    @Test func manyOfOneTimeFollowEachOther() {
        let now = Date()
        let ids = UUID.consecutiveVersion7(count: 5000, at: now)
        #expect(ids.map(\.text) == ids.map(\.text).sorted())
        #expect(zip(ids, ids.dropFirst()).allSatisfy { $1.follows($0) })
        #expect(!ids[0].follows(ids[1]) && !ids[2].follows(ids[0]) && !ids[0].follows(ids[0]))
        #expect(ids.indices.allSatisfy { ids[0].advanced(by: $0) == ids[$0] })
        for id in ids {
            let bytes = Self.bytes(id)
            #expect(bytes.prefix(6) == Self.bytes(.version7(at: now)).prefix(6))
            #expect(bytes[6] >> 4 == 7)
            #expect(bytes[8] >> 6 == 0b10)
        }
        for (index, id) in ids.enumerated() {
            #expect(id.isInBlock(of: ids[index / 128 * 128]))
            #expect(index < 128 || !id.isInBlock(of: ids[index - 128]))
        }
        let others = UUID.consecutiveVersion7(count: 5000, at: now)
        #expect(Set(ids + others).count == 10_000)
    }

    @Test func precedesInTheOrderOfItsText() throws {
        var texts = (0..<1000).map { _ in UUID().uuidString }
        // Wherever two differ, and by the highest bit too.
        for place in texts[0].indices where texts[0][place] != "-" {
            for digit in ["0", "7", "8", "F"] {
                texts.append(texts[0].replacingCharacters(in: place...place, with: digit))
            }
        }
        let ids = try texts.map { try #require(UUID(uuidString: $0)) }
        for (one, other) in zip(ids, ids.shuffled() + [ids[0]]) {
            #expect(one.precedes(other) == (one.uuidString < other.uuidString))
        }
        for id in ids { #expect(id.precedes(ids[0]) == (id.uuidString < ids[0].uuidString)) }
        #expect(!ids[0].precedes(ids[0]))
    }

    @Test func followsOverTheBoundOfAByte() throws {
        let last = try #require(UUID(uuidString: "01900000-0000-7000-8000-0000000000ff"))
        let next = try #require(UUID(uuidString: "01900000-0000-7000-8000-000000000100"))
        let sameEnd = try #require(UUID(uuidString: "01900000-0001-7000-8000-000000000100"))
        #expect(next.follows(last))
        #expect(last.advanced(by: 1) == next)
        #expect(!sameEnd.follows(last))
    }

    @Test func aClockBefore1970MakesNoNegativeNumber() {
        #expect(Self.bytes(.version7(at: .distantPast)).prefix(6) == [0, 0, 0, 0, 0, 0])
    }

    @Test func isWrittenInLowerCase() {
        for _ in 0..<1000 {
            let id = TaskID(UUID())
            #expect(id.description == id.uuid.uuidString.lowercased())
        }
    }

    private static func bytes(_ uuid: UUID) -> [UInt8] {
        withUnsafeBytes(of: uuid.uuid) { Array($0) }
    }
}
