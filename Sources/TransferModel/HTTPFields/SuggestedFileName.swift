/// The name a response suggests for its file, as `URLResponse.suggestedFilename` does.
///
/// What a server says is hostile: the name is one component that can be shown, joined to a folder
/// and copied to another system without a surprise.
package enum SuggestedFileName {
    /// The longest name, in bytes of UTF-8: room for a suffix within a Linux file name's 255.
    package static let bytesMax = Destination.componentBytesMax

    /// The first usable one of `filename*`, `filename` (RFC 6266 §4.3) and the last segment of the
    /// path of `url`; nil when none is left.
    package static func of(contentDisposition: String?, url: String) -> String? {
        let disposition = contentDisposition.flatMap(ContentDisposition.init)
        return safe(disposition?.extendedFileName)
            ?? safe(disposition?.fileName)
            ?? safe(lastSegment(of: url))
    }

    /// The decoded last segment of the path; nil when it is not UTF-8 or an escape is broken.
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
        // Scalars, because a separator with a combining mark behind it is still one to a system.
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

    /// Whether nothing has to be done for a name but to look whether it is a device: most are like that,
    /// and to look up what each scalar is takes long.
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

    /// Whether a scalar changes how a name is shown without being seen.
    ///
    /// The joiners stay, because scripts and emoji are written with them.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: !isJoiner(scalar)
        default:
            // Variation selectors choose the form of the character before them, as emoji need.
            scalar.properties.isNoncharacterCodePoint
                || scalar.properties.isDefaultIgnorableCodePoint
                    && !scalar.properties.isVariationSelector
        }
    }

    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0x200C || scalar.value == 0x200D
    }

    /// Hides a file at the beginning of a name, is dropped by Windows at its end, or is not seen.
    private static func isEdge(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace || isJoiner(scalar)
    }

    /// Combines with what stands before it, which at the beginning is somebody else's.
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

    /// `name` in `bytesMax` bytes, with its extension.
    private static func shortened(_ name: String, to bytesMax: Int) -> String {
        guard name.utf8.count > bytesMax else { return name }
        let fileExtension = fileExtension(of: name)
        let stem = name.unicodeScalars.dropLast(fileExtension.unicodeScalars.count)
        let room = bytesMax - fileExtension.utf8.count
        let cut = Array(prefix(of: String(stem), bytes: room).unicodeScalars)[...]
        return String(String.UnicodeScalarView(trimmedAtEnd(cut))) + fileExtension
    }

    /// Longer extensions are cut like the rest of a name.
    private static let extensionBytesMax = 32

    /// The last dot and what follows; empty where that is no extension.
    private static func fileExtension(of name: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: ".") else { return "" }
        let found = name.unicodeScalars[dot...]
        return found.count > 1 && String(found).utf8.count <= extensionBytesMax
            ? String(found) : ""
    }

    /// The characters that fit whole; where the first alone does not, its scalars that do.
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
