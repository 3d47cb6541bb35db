import Foundation

/// Texts that differ from good ones by a few bytes, for parsers to accept or refuse.
///
/// The same seed gives the same texts on every machine: `TRANSFERD_FUZZ_SEED`, 1 unless set. There
/// are `TRANSFERD_FUZZ_COUNT` of them, 3,000 unless set.
package struct MutatedTexts: Sequence {
    private let samples: [[UInt8]]
    private let pieces: [[UInt8]]

    /// Mutates `samples`, also with `pieces` that mean something to their parser.
    package init(of samples: [String], with pieces: [String] = []) {
        self.samples = samples.map { Array($0.utf8) }
        self.pieces =
            (pieces + [
                "", "0", "9", "-", " ", "\t", "\r\n", "\u{0}", "\u{7F}", "é", "\u{301}", "\"",
                "\\", "%00", "18446744073709551616", "9223372036854775807",
            ]).map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]]
    }

    private static func number(_ name: String, default value: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) ?? value
    }

    package struct Iterator: IteratorProtocol {
        private let texts: MutatedTexts
        private var generator = SeededGenerator(
            state: MutatedTexts.number("TRANSFERD_FUZZ_SEED", default: 1)
        )
        private var left = MutatedTexts.number("TRANSFERD_FUZZ_COUNT", default: 3000)

        fileprivate init(_ texts: MutatedTexts) { self.texts = texts }

        /// Returns the bytes of the next text; nil after the last.
        package mutating func next() -> [UInt8]? {
            guard left > 0 else { return nil }
            left -= 1
            var bytes = texts.samples.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 0...4, using: &generator) { mutate(&bytes) }
            return bytes
        }

        private mutating func mutate(_ bytes: inout [UInt8]) {
            let place = Int.random(in: 0...bytes.count, using: &generator)
            let end = Swift.min(
                bytes.count,
                place + Int.random(in: 0...4, using: &generator)
            )
            let piece = texts.pieces.randomElement(using: &generator) ?? []
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes.removeSubrange(place..<end)
            case 1: bytes.insert(contentsOf: piece, at: place)
            case 2: bytes.replaceSubrange(place..<end, with: piece)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 4:
                guard place < bytes.count else { return }
                bytes[place] = generator.next()
            default:
                let other = texts.samples.randomElement(using: &generator) ?? []
                bytes = bytes.prefix(place) + other.suffix(Swift.max(0, other.count - place))
            }
        }
    }

    package func makeIterator() -> Iterator { Iterator(self) }

    /// The texts as strings, with what is no UTF-8 replaced.
    package var strings: [String] { map { String(decoding: $0, as: UTF8.self) } }
}
