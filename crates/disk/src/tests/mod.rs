mod copies;
mod crash;
mod damage;
mod memory;
mod real;
