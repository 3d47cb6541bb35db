/// Whether a session takes new tasks.
enum SessionIntake {
    case open
    /// Its client was force-quit and not launched since.
    case forceQuit
    /// It ends with what is outstanding.
    case finishing
    /// There is no such living session.
    case absent
}
