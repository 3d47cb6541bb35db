import Foundation
import TransferContainer
import TransferModel

extension DataDirectory {
    private var containers: String { "\(path)/containers" }

    /// Returns the files beneath the containers, by path: their inode and what changes with their
    /// bytes.
    ///
    /// In place of a pack it has the files that the results in it would have.
    package func files() throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for name in names {
            // A file that disappears meanwhile does not count.
            let path = "\(containers)/\(name)"
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                attributes[.type] as? FileAttributeType == .typeRegular
            else { continue }
            let inode = "\(attributes[.systemFileNumber] ?? "")"
            guard let place = place(name), place.isPack else {
                found[name] = [inode, "\(attributes[.modificationDate] ?? "")"]
                continue
            }
            let attempts = try Container(directory: containers).attempts(inPackAt: place) ?? []
            for (task, fence) in attempts {
                let result = ResultLocation.partPath(of: task, destination: nil, fence: fence)
                found["\(name.prefix { $0 != "/" })/\(result)"] = [inode]
            }
        }
        return found
    }

    /// Returns the packs without results, also those that their writers still have open.
    package func emptyPacks() throws -> [String] {
        try names.filter { name in
            guard let place = place(name), place.isPack else { return false }
            return try Container(directory: containers).attempts(inPackAt: place)?.isEmpty ?? true
        }
    }

    private var names: [String] {
        let all = FileManager.default.enumerator(atPath: containers)?.allObjects ?? []
        return all.compactMap { $0 as? String }
    }

    /// Returns the bytes of one of ``files()``.
    package func content(of name: String) throws -> [UInt8] {
        guard let place = place(name) else {
            return Array(try Data(contentsOf: URL(filePath: "\(containers)/\(name)")))
        }
        let file = try ContainerFile(place, in: Container(directory: containers))
        var bytes = [UInt8](repeating: 0, count: Int(file.size))
        let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        return Array(bytes.prefix(count))
    }

    /// Removes one of ``files()``, as an operator might.
    package func removeFile(_ name: String) throws {
        guard let place = place(name) else { return }
        try Container(directory: containers).removePart(at: place)
    }

    private func place(_ name: String) -> Container.Place? {
        let parts = name.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let tenant = UUID(uuidString: String(parts[0])) else { return nil }
        return Container.Place(String(parts[1]), tenant: TenantID(tenant))
    }
}
