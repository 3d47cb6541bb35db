/// The name that a response suggests for its file, as `URLResponse.suggestedFilename` does.
///
/// A server's words are hostile: the name is one component that can be shown, joined to a folder
/// and copied to another system without a surprise.
package enum SuggestedFileName {
    /// The longest name, in bytes of UTF-8: room for a suffix within a Linux file name's 255.
    package static let bytesMax = Destination.componentBytesMax

    /// Returns the first usable name of `filename*`, `filename` (RFC 6266 §4.3) and the last path
    /// segment of `url`; nil when there is none.
    package static func of(contentDisposition: String?, url: String) -> String? {
        let disposition = contentDisposition.flatMap(ContentDisposition.init)
        return safe(disposition?.extendedFileName)
            ?? safe(disposition?.fileName)
            ?? safe(lastSegment(of: url))
    }

    /// Returns the decoded last segment of the path; nil when it is not UTF-8 or an escape is
    /// broken.
    private static func lastSegment(of url: String) -> String? {
        let bytes = Array(url.utf8)
        let resource = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        // `http://host` has no path; its last slash is not the path's.
        guard let scheme = resource.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let hierarchy = resource[(scheme + 1)...]
        guard hierarchy.starts(with: "//".utf8) else { return nil }
        let slash = UInt8(ascii: "/")
        guard let path = hierarchy.dropFirst(2).firstIndex(of: slash),
            let last = resource[path...].lastIndex(of: slash)
        else { return nil }
        return PercentDecoding.text(resource[(last + 1)...])
    }

    private static func safe(_ name: String?) -> String? {
        guard let name else { return nil }
        if isPlain(name) { return isDevice(name) ? "_" + name : name }
        // Scalars, because to a system a separator followed by a combining mark is still a
        // separator.
        let last =
            name.unicodeScalars.split(
                omittingEmptySubsequences: false,
                whereSeparator: isSeparator
            ).last ?? []
        let visible = last.filter { !isInvisible($0) }
        let trimmed = trimmedAtEnd(visible[...].drop { isEdge($0) || isMark($0) })
        guard !trimmed.isEmpty else { return nil }
        let short = shortened(String(String.UnicodeScalarView(trimmed)), to: bytesMax)
        guard isDevice(short) else { return short }
        return "_" + shortened(short, to: bytesMax - 1)
    }

    /// Whether a name needs no change, except perhaps as a device name.
    ///
    /// Most names are plain, and looking up the properties of each scalar takes long.
    private static func isPlain(_ name: String) -> Bool {
        let bytes = name.utf8
        let dot = UInt8(ascii: ".")
        guard (1..<bytesMax).contains(bytes.count), bytes.first != dot, bytes.last != dot else {
            return false
        }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), dot, UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "/" || scalar == "\\" || scalar.value == 0
    }

    /// Whether a scalar changes how a name is displayed but is itself invisible.
    ///
    /// The joiners stay, because scripts and emoji are written with them.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: !isJoiner(scalar)
        default:
            // Variation selectors choose the form of the preceding character, as emoji need.
            scalar.properties.isNoncharacterCodePoint
                || scalar.properties.isDefaultIgnorableCodePoint
                    && !scalar.properties.isVariationSelector
        }
    }

    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0x200C || scalar.value == 0x200D
    }

    /// Whether a scalar hides a file when it begins the name, is dropped by Windows at the end, or
    /// is invisible.
    private static func isEdge(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace || isJoiner(scalar)
    }

    /// Whether a scalar combines with the preceding one, which for the first belongs to another
    /// text.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    private static func trimmedAtEnd(
        _ scalars: ArraySlice<Unicode.Scalar>
    ) -> ArraySlice<Unicode.Scalar> {
        var scalars = scalars
        while let last = scalars.last, isEdge(last) { scalars.removeLast() }
        return scalars
    }

    /// Returns `name` cut to `bytesMax` bytes, with its extension.
    private static func shortened(_ name: String, to bytesMax: Int) -> String {
        guard name.utf8.count > bytesMax else { return name }
        let fileExtension = fileExtension(of: name)
        let stem = name.unicodeScalars.dropLast(fileExtension.unicodeScalars.count)
        let room = bytesMax - fileExtension.utf8.count
        let cut = Array(prefix(of: String(stem), bytes: room).unicodeScalars)[...]
        return String(String.UnicodeScalarView(trimmedAtEnd(cut))) + fileExtension
    }

    /// The most bytes of an extension; a longer one is cut like the rest of the name.
    private static let extensionBytesMax = 32

    /// Returns the last dot and the text after it; empty when that is no extension.
    private static func fileExtension(of name: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: ".") else { return "" }
        let found = name.unicodeScalars[dot...]
        return found.count > 1 && String(found).utf8.count <= extensionBytesMax
            ? String(found) : ""
    }

    /// Returns the leading characters that fit whole; if not even the first fits, those of its
    /// scalars that do.
    private static func prefix(of text: String, bytes: Int) -> String {
        var room = bytes
        let characters = text.prefix { character in
            room -= character.utf8.count
            return room >= 0
        }
        if !characters.isEmpty { return String(characters) }
        room = bytes
        return String(
            text.unicodeScalars.prefix { scalar in
                room -= UTF8.width(scalar)
                return room >= 0
            }
        )
    }

    /// Whether Windows takes the name for a device, whatever its extension (learn.microsoft.com,
    /// "Naming Files, Paths, and Namespaces").
    private static func isDevice(_ name: String) -> Bool {
        // The names of all devices begin with one of these, whatever their case.
        guard let first = name.utf8.first, "ACLNPaclnp".utf8.contains(first) else { return false }
        var stem = Array(name.unicodeScalars.prefix { $0 != "." })[...]
        while stem.last?.properties.isWhitespace ?? false { stem.removeLast() }
        return devices.contains(String(String.UnicodeScalarView(stem)).uppercased())
    }

    private static let devices: Set<String> = {
        let numbers = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"]
        return Set(["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"])
            .union(numbers.flatMap { ["COM\($0)", "LPT\($0)"] })
    }()
}
