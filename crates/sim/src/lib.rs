//! (essay to come with the code)
