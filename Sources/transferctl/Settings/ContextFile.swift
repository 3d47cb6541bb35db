import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The services that a user has named, in a file that nobody else may read, as it has their keys.
struct ContextFile: Codable, Sendable {
    /// A service, and the key for it.
    struct Context: Codable, Equatable, Sendable {
        var url: String
        var apiKey: String
        var client: String?

        private enum CodingKeys: String, CodingKey {
            case url, client
            case apiKey = "api_key"
        }
    }

    /// Why the file cannot be used.
    enum Fault: Error, Equatable, CustomStringConvertible {
        case readableByOthers(path: String)
        case unreadable(path: String)
        case unknownContext(String, path: String)

        var description: String {
            switch self {
            case .readableByOthers(let path):
                "\(path) has keys and others may read it. Run: chmod 600 \(path)"
            case .unreadable(let path): "\(path) is not a file of contexts."
            case .unknownContext(let name, let path): "\(path) has no context \(name)."
            }
        }
    }

    /// The name of the context that is used unless another is named.
    var current: String?
    /// The contexts by their names.
    var contexts: [String: Context] = [:]

    /// Returns the path: `TRANSFERCTL_CONFIG`, or a file in the user's folder for configuration; an
    /// empty variable counts as absent.
    static func path(_ environment: [String: String]) -> String {
        let environment = environment.filter { !$0.value.isEmpty }
        if let path = environment["TRANSFERCTL_CONFIG"] { return path }
        let home = environment["HOME"] ?? "."
        let folder = environment["XDG_CONFIG_HOME"] ?? "\(home)/.config"
        return "\(folder)/transferctl/contexts.json"
    }

    /// Reads the file; without one there are no contexts.
    ///
    /// - Throws: ``Fault``, also when anybody but its owner may read or write it.
    static func read(at path: String) throws -> ContextFile {
        let manager = FileManager.default
        guard manager.fileExists(atPath: path) else { return ContextFile() }
        let attributes = try manager.attributesOfItem(atPath: path)
        guard let mode = attributes[.posixPermissions] as? NSNumber, mode.intValue & 0o077 == 0
        else { throw Fault.readableByOthers(path: path) }
        do {
            return try JSONDecoder().decode(
                ContextFile.self,
                from: Data(contentsOf: URL(literal: path))
            )
        } catch is DecodingError {
            throw Fault.unreadable(path: path)
        }
    }

    /// Writes the file, which only its owner can read, in the place of the old one.
    func write(to path: String) throws {
        let file = URL(literal: path)
        let folder = file.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(self)
        let new = folder.appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)")
        // It has its mode before it has its bytes.
        let descriptor = open(new.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFault(path, cannotBe: .written, number: errno) }
        // Nothing with a key in it is left behind; after the rename there is nothing to remove.
        defer { unlink(new.path) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: bytes)
            try handle.synchronize()
            try handle.close()
        } catch {
            throw FileFault(path, cannotBe: .written, error)
        }
        guard rename(new.path, file.path) == 0 else {
            throw FileFault(path, cannotBe: .written, number: errno)
        }
    }
}
