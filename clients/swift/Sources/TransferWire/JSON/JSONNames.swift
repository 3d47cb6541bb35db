/// The names of the members of a text's objects.
enum JSONNames {
    /// The most bytes of a pointer to a fault, so that an answer does not repeat a body.
    static let pointerBytesMax = 1024

    /// An array or object that has not ended.
    private struct Container {
        let isObject: Bool
        var names: Set<String> = []
        /// The current member of an object.
        var name = ""
        /// The number of the current element of an array.
        var element = 0

        /// The step of a path to the current member or element.
        var key: AnyKey { isObject ? AnyKey(stringValue: name) : AnyKey(intValue: element) }
    }

    /// Returns the pointer to the first member whose name equals that of an earlier one of its
    /// object, or to the innermost value around it whose pointer is no longer than
    /// ``pointerBytesMax``; nil when there is none.
    ///
    /// A decoder keeps only one of them, also if the names are equal without being the same bytes:
    /// a Swift text is equal to any other that Unicode calls canonically equivalent.
    ///
    /// Expects a text that a decoder has accepted, whose names have few combining marks.
    static func repeated(in text: ArraySlice<UInt8>) -> String? {
        var containers: [Container] = []
        var expectsName = false
        var index = text.startIndex
        while index < text.endIndex {
            switch text[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                expectsName = text[index] == UInt8(ascii: "{")
                containers.append(Container(isObject: expectsName))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = containers.popLast()
                expectsName = false
            case UInt8(ascii: ",") where !containers.isEmpty:
                containers[containers.count - 1].element += 1
                expectsName = containers[containers.count - 1].isObject
            case UInt8(ascii: "\""):
                let end = endOfString(text, from: index)
                if expectsName, let name = name(text[index..<end]) {
                    containers[containers.count - 1].name = name
                    if !containers[containers.count - 1].names.insert(name).inserted {
                        return pointer(to: containers)
                    }
                }
                expectsName = false
                index = end
                continue
            default: break
            }
            index += 1
        }
        return nil
    }

    private static func pointer(to containers: [Container]) -> String {
        var pointer = ""
        for container in containers {
            let longer = pointer + JSONPointer.rendering([container.key])
            guard longer.utf8.count <= pointerBytesMax else { break }
            pointer = longer
        }
        return pointer
    }

    /// Whether a member has a name with too many combining marks in a row, which no decoder may
    /// see: it compares names as texts.
    ///
    /// Expects a text in UTF-8. Of one that is no JSON the answer means nothing.
    static func haveTooManyMarks(in text: ArraySlice<UInt8>) -> Bool {
        // Without these there is no mark, nor the escape of one.
        guard text.contains(where: { $0 >= 0xCC || $0 == UInt8(ascii: "\\") }) else { return false }
        var index = text.startIndex
        var string = index..<index
        while index < text.endIndex {
            switch text[index] {
            case UInt8(ascii: "\""):
                string = index..<endOfString(text, from: index)
                index = string.upperBound
                continue
            // What stands before a colon is a name.
            case UInt8(ascii: ":") where string.count > 2 * CombiningMarks.rowMax:
                if let name = name(text[string]), CombiningMarks.areTooMany(in: name) {
                    return true
                }
                // Once: behind it there may be any number of colons.
                string = index..<index
            default: break
            }
            index += 1
        }
        return false
    }

    /// Returns the place behind a string that begins at `start`.
    private static func endOfString(_ text: ArraySlice<UInt8>, from start: Int) -> Int {
        var index = start + 1
        while index < text.endIndex, text[index] != UInt8(ascii: "\"") {
            index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, text.endIndex)
    }

    /// Returns the value of a string; nil if it has none.
    private static func name(_ string: ArraySlice<UInt8>) -> String? {
        guard var reader = try? JSONReader(Array(string)) else { return nil }
        return try? reader.string()
    }
}
