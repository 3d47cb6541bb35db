import Glibc
import Postgres

extension Query {
    /// Whether the statement changes rows, as its text tells; a lock alone is no change.
    var changesRows: Bool {
        sql.withCString { text in
            strstr(text, "INSERT INTO") != nil || strstr(text, "DELETE FROM") != nil
                || Self.updates(text)
        }
    }

    /// Whether an `UPDATE` is anything else than the end of `FOR UPDATE` or `FOR NO KEY UPDATE`.
    private static func updates(_ text: UnsafePointer<CChar>) -> Bool {
        var rest = text
        while let place = strstr(rest, "UPDATE ") {
            // No statement is so short that nothing stands before a lock.
            if place - 4 < UnsafeMutablePointer(mutating: text)
                || (strncmp(place - 4, "FOR ", 4) != 0 && strncmp(place - 4, "KEY ", 4) != 0)
            {
                return true
            }
            rest = UnsafePointer(place + 1)
        }
        return false
    }
}
