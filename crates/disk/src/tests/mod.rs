mod copies;
mod crash;
mod damage;
mod fuzz;
mod memory;
mod real;
