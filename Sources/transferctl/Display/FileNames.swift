/// The names of files in a folder, each of which is given once.
struct FileNames {
    private var given: Set<String> = []
    /// The number last given with a name, below which none is free.
    private var numbers: [String: Int] = [:]

    /// Returns a name that has not been given and that nothing in the folder has: the one wanted,
    /// or one with a number before its extension, as in `photo-1.jpg`.
    mutating func claim(_ wanted: String, isTaken: (String) -> Bool) -> String {
        let wanted = Self.plain(wanted)
        var number = numbers[wanted] ?? 0
        var name = number == 0 ? wanted : Self.numbered(wanted, number)
        while given.contains(name) || isTaken(name) {
            number += 1
            name = Self.numbered(wanted, number)
        }
        given.insert(name)
        numbers[wanted] = number
        return name
    }

    /// Returns the last part of a URL's path.
    static func name(of url: String) -> String {
        let parts = url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/")
        return parts.count > 2 ? plain(String(parts[parts.count - 1])) : "file"
    }

    /// Returns a name that leads to no other folder.
    private static func plain(_ name: String) -> String {
        let name = name.split(separator: "/").last.map(String.init) ?? ""
        return ["", ".", ".."].contains(name) ? "file" : name
    }

    private static func numbered(_ name: String, _ number: Int) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else {
            return "\(name)-\(number)"
        }
        return "\(name[..<dot])-\(number)\(name[dot...])"
    }
}
