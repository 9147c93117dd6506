"""Native DSLs that overrides may be written in, one file each; a file is imported by the first call that needs it.

``opdsl/dispatch/overrides/native_dsl.py`` knows them by name. May import: dispatch and what stands below it; its own
package only within functions.
"""
