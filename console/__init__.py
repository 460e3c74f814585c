"""How people and programs reach Toolpath."""
