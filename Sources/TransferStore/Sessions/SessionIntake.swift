/// Whether a session takes new tasks.
enum SessionIntake {
    case open
    /// Its client was force-quit and has not been launched since.
    case forceQuit
    /// It ends with its outstanding tasks.
    case finishing
    /// There is no such living session.
    case absent
}
