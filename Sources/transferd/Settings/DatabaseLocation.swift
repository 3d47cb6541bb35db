import Foundation
import Glibc
import Postgres

/// The location of the database and the files.
struct DatabaseLocation: Sendable {
    /// The URL, never logged as it may hold a password; nil for the data directory's own cluster.
    let url: String?
    let pooler: Pooler
    let tls: DatabaseTLS
    let dataDirectory: String
    let migrations: String
    let openAPIDocument: String
    /// The folder with the files of the page.
    let page: String

    /// The file in which the service keeps the API key that it made at its first start.
    var apiKeyFile: String { "\(dataDirectory)/api-key" }
    /// The file of the key that seals secrets, unless another one is set.
    var secretsKeyFile: String { "\(dataDirectory)/secrets-key" }
    var containers: String { "\(dataDirectory)/containers" }

    init(_ options: DatabaseOptions, _ reader: inout SettingsReader) {
        url = reader.text(options.databaseURL, "DATABASE_URL")
        // Not quoted: the faulty part may stand beside a password.
        if let url, !ConnectionConfiguration(url: url).isReadable {
            reader.refuse(
                "DATABASE_URL: is neither a postgres:// URL nor keywords as libpq has them"
            )
        }
        tls = reader.word(options.databaseTLS, "TRANSFERD_DATABASE_TLS", default: .verified)
        if let url { Self.checkEncryption(of: url, "DATABASE_URL", tls, &reader) }
        pooler = reader.word(options.pooler, "TRANSFERD_POOLER", default: .none)
        if pooler != .none, url == nil {
            reader.refuse("TRANSFERD_POOLER: the private cluster has none; it takes a DATABASE_URL")
        }
        let directory =
            reader.text(options.dataDirectory, "TRANSFERD_DATA_DIRECTORY")
            ?? Self.dataDirectoryDefault(reader.environment)
        if directory == nil {
            reader.refuse(
                """
                TRANSFERD_DATA_DIRECTORY: has to be set, because this user has no home directory
                """
            )
        }
        dataDirectory = URL(fileURLWithPath: directory ?? "/").standardizedFileURL.path
        let resources =
            reader.text(options.resources, "TRANSFERD_RESOURCES") ?? Self.resourcesDefault(&reader)
        migrations = "\(resources)/migrations"
        openAPIDocument = "\(resources)/openapi.yaml"
        page = "\(resources)/page"
    }

    /// Refuses a URL that leads elsewhere to a server which need not prove that it is the one.
    static func checkEncryption(
        of url: String,
        _ variable: String,
        _ tls: DatabaseTLS,
        _ reader: inout SettingsReader
    ) {
        let configuration = ConnectionConfiguration(url: url)
        if tls == .verified, configuration.leavesServerUnverified {
            reader.refuse(
                """
                \(variable): names a server on another machine without sslmode=verify-full, so that \
                another could take its place. Add that, with sslrootcert for the file of the \
                authorities that may vouch for it, such as /etc/ssl/certs/ca-certificates.crt, or \
                set TRANSFERD_DATABASE_TLS to as-given if that network is trusted
                """
            )
        } else if configuration.leavesEncryptionOpen {
            reader.refuse(
                """
                \(variable): names a server on another machine and no sslmode, and would then fall \
                back to a connection without encryption. Add sslmode=verify-full, or sslmode=disable \
                if that network is trusted
                """
            )
        }
    }

    /// Returns the data directory of a user who names none; nil for one without a home.
    ///
    /// Nothing that others share takes its place: what is kept there outlives the machine's next
    /// start, and has secrets.
    static func dataDirectoryDefault(
        _ environment: [String: String],
        user: uid_t = geteuid()
    ) -> String? {
        if user == 0 { return "/var/lib/transferd" }
        // Paths that are not absolute count as absent, as in the XDG Base Directory Specification.
        let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        if let state { return "\(state)/transferd" }
        let known = getpwuid(user)?.pointee.pw_dir.map { String(cString: $0) }
        let home = [environment["HOME"], known].compactMap(\.self).first { $0.hasPrefix("/") }
        return home.map { "\($0)/.local/state/transferd" }
    }

    /// Removes libpq's own variables from this process, unless a database is named: they would lead
    /// the connections to a private cluster elsewhere.
    ///
    /// To be called before there are other threads.
    static func forgetOtherServers() {
        let environment = ProcessInfo.processInfo.environment
        let option = "--database-url"
        let isNamed =
            environment["DATABASE_URL"]?.isEmpty == false
            || CommandLine.arguments.contains { $0 == option || $0.hasPrefix("\(option)=") }
        guard !isNamed else { return }
        for name in environment.keys where name.hasPrefix("PG") { unsetenv(name) }
    }

    /// Returns the folder beside the installed program, or else the working directory.
    ///
    /// An installed program is run from anywhere, even from where another program keeps migrations.
    private static func resourcesDefault(_ reader: inout SettingsReader) -> String {
        let program = Bundle.main.executableURL?.deletingLastPathComponent()
        let installed = program?.appendingPathComponent("../share/transferd").standardizedFileURL
        let folders = [installed?.path, "."].compactMap(\.self)
        if let folder = folders.first(where: hasResources) { return folder }
        reader.refuse(
            "TRANSFERD_RESOURCES: none of \(folders.joined(separator: ", ")) has the migrations, the "
                + "page and openapi.yaml of transferd"
        )
        return "."
    }

    private static func hasResources(_ folder: String) -> Bool {
        ["migrations/0001_tenancy.up.sql", "openapi.yaml", "page/index.html"]
            .allSatisfy { FileManager.default.fileExists(atPath: "\(folder)/\($0)") }
    }
}
